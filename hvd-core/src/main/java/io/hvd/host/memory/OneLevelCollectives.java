package io.hvd.host.memory;

import io.hvd.kernel.Reducer;
import io.hvd.spi.PointToPoint;
import io.hvd.spi.Progress;
import io.hvd.spi.Reduction;
import io.hvd.tensor.Device;
import io.hvd.tensor.Tensor;
import java.util.List;

/** The data plane of ranks that all share one memory. */
public final class OneLevelCollectives extends MemoryCollectives {
    private final OneLevelAllreduce allreduce;
    private final OneLevelMovement movement;
    private final boolean ofAll;
    private final Progress progress;

    /**
     * @param pairs the way of a tensor from one rank to another; closed together with this data plane
     * @param ofAll whether these are all ranks of the job
     * @param progress moves on the messages that the ranks send beside this data plane
     */
    public OneLevelCollectives(Rounds rounds, Reducer reducer, PointToPoint pairs, boolean ofAll, Progress progress) {
        this(rounds, reducer, new OneLevelAllreduce(rounds, reducer), pairs, ofAll, progress);
    }

    private OneLevelCollectives(
            Rounds rounds,
            Reducer reducer,
            OneLevelAllreduce allreduce,
            PointToPoint pairs,
            boolean ofAll,
            Progress progress) {
        super(rounds, allreduce, pairs);
        this.allreduce = allreduce;
        this.movement = new OneLevelMovement(rounds, reducer);
        this.ofAll = ofAll;
        this.progress = progress;
    }

    @Override
    public Levels levels() {
        return Levels.none("all ranks share one memory");
    }

    @Override
    public boolean takesVetoes(Device device) {
        return device.isCpu();
    }

    /** While a message may be under way, the communication thread moves it on as it waits, and no other thread can. */
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
    public void reduce(Tensor input, Tensor output, Reduction how, int root) {
        allreduce.reduce(input, output, how, root);
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
    public void gather(Tensor input, Tensor output, long[] elements, int root) {
        movement.gather(input, output, elements, root);
    }

    @Override
    public void scatter(Tensor input, Tensor output, long[] elements, int root) {
        movement.scatter(input, output, elements, root);
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
