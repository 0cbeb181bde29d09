package io.hvd.backend.shm;

import io.hvd.spi.Activities;
import io.hvd.spi.DataPlane;
import io.hvd.spi.OpKind;
import io.hvd.spi.Reduction;
import io.hvd.tensor.Device;
import io.hvd.tensor.Reducer;
import io.hvd.tensor.Tensor;
import java.util.EnumSet;
import java.util.List;

/**
 * The data plane of ranks on several hosts with the same number of ranks each. Data moves through the segment inside a
 * host, and between the hosts from each rank to those at its place. Operations that only pass data from one rank to
 * another go through the back end beneath.
 */
final class CrossingCollectives extends SharedCollectives {
    /**
     * The number of bytes of all ranks from which on broadcast, allgather and reduce-scatter take half the time in two
     * levels: measured with 2 hosts of 2 ranks each, 1 Gbit/s, and Open MPI's default settings beneath. Fewer bytes
     * were not compared.
     */
    private static final long WORTH_BYTES = 64 << 10;

    private final DataPlane beneath;
    private final Crossing across;
    private final CrossingMovement movement;

    /**
     * @param beneath the data plane of the same ranks without shared memory
     * @param hosts numbers of the ranks of each host, by place
     * @param host the number of this host
     */
    CrossingCollectives(
            Rounds rounds, Reducer reducer, DataPlane beneath, Crossing across, List<List<Integer>> hosts, int host) {
        super(
                EnumSet.of(OpKind.ALLREDUCE, OpKind.BROADCAST, OpKind.ALLGATHER, OpKind.REDUCESCATTER),
                rounds,
                new CrossingAllreduce(rounds, reducer, across),
                beneath);
        rounds.meanwhile(across::moveOn);
        this.beneath = beneath;
        this.across = across;
        this.movement = new CrossingMovement(rounds, reducer, across, hosts, host);
    }

    @Override
    public void report(Activities to) {
        super.report(to);
        across.report(to);
    }

    /** Always false, because the data plane between the hosts belongs to the communication thread. */
    @Override
    public boolean takesAnyThread(Device device) {
        return false;
    }

    @Override
    public void broadcast(List<Tensor> inputs, List<Tensor> outputs, int root) {
        if (isWorth(inputs.stream().mapToLong(Tensor::bytes).sum())) {
            movement.broadcast(inputs, outputs, root);
        } else {
            beneath.broadcast(inputs, outputs, root);
        }
    }

    @Override
    public void allgather(Tensor input, Tensor output, long[] elements) {
        if (isWorth(output.bytes())) {
            movement.allgather(input, output, elements);
        } else {
            beneath.allgather(input, output, elements);
        }
    }

    @Override
    public void reduceScatter(Tensor input, Tensor output, long[] elements, Reduction how) {
        if (isWorth(input.elements() * how.wire().bytes())) {
            movement.reduceScatter(input, output, elements, how);
        } else {
            beneath.reduceScatter(input, output, elements, how);
        }
    }

    /** Whether two levels pay for so many bytes; the same answer on every rank. */
    private boolean isWorth(long bytes) {
        return bytes >= WORTH_BYTES && movement.hasRoom();
    }

    /** The data plane between the hosts is closed before the back end beneath, because it was made after it. */
    @Override
    public void close() {
        across.close();
        super.close();
    }

    @Override
    public void abandon() {
        across.abandon();
        super.abandon();
    }
}
