package io.hvd.backend.shm;

import io.hvd.spi.DataPlane;
import io.hvd.spi.OpKind;
import io.hvd.spi.Progress;
import io.hvd.spi.Reduction;
import io.hvd.tensor.Device;
import io.hvd.tensor.Reducer;
import io.hvd.tensor.Tensor;
import java.util.EnumSet;
import java.util.List;

/** The data plane of ranks on one host, which move large data through their segment. */
final class OneHostCollectives extends SharedCollectives {
    private final SharedMovement movement;
    private final boolean ofAll;
    private final Progress progress;

    /**
     * @param beneath the data plane of the same ranks without shared memory
     * @param ofAll whether these are all ranks of the job
     * @param progress of the messages that the back end beneath sends
     */
    OneHostCollectives(Rounds rounds, Reducer reducer, DataPlane beneath, boolean ofAll, Progress progress) {
        super(
                EnumSet.of(OpKind.ALLREDUCE, OpKind.BROADCAST, OpKind.ALLGATHER, OpKind.ALLTOALL, OpKind.REDUCESCATTER),
                rounds,
                new SharedAllreduce(rounds, reducer),
                beneath);
        this.ofAll = ofAll;
        this.progress = progress;
        this.movement = new SharedMovement(rounds, reducer);
    }

    /** While something may be under way beneath, the communication thread moves it on as it waits, and no other thread can. */
    @Override
    public boolean takesAnyThread(Device device) {
        return device.isCpu() && !progress.isPending();
    }

    @Override
    public boolean allreduceUnlessVetoed(List<Tensor> inputs, List<Tensor> outputs, Reduction how) {
        boolean agreed = super.allreduceUnlessVetoed(inputs, outputs, how);
        if (ofAll && progress.isPending()) {
            progress.delivered(); // all ranks have come, each with what it was sent before
        }
        return agreed;
    }

    @Override
    public void broadcast(List<Tensor> inputs, List<Tensor> outputs, int root) {
        movement.broadcast(inputs, outputs, root);
    }

    @Override
    public void allgather(Tensor input, Tensor output, long[] elements) {
        movement.allgather(input, output, elements);
    }

    @Override
    public void alltoall(Tensor input, Tensor output, long[] sent, long[] received, long longest) {
        movement.alltoall(input, output, sent, received, longest);
    }

    @Override
    public void reduceScatter(Tensor input, Tensor output, long[] elements, Reduction how) {
        movement.reduceScatter(input, output, elements, how);
    }
}
