package io.hvd.host.memory;

import io.hvd.spi.Activities;
import io.hvd.spi.BegunCollectives;
import io.hvd.spi.HostDataPlane;
import io.hvd.spi.PointToPoint;
import io.hvd.spi.Reduction;
import io.hvd.tensor.Device;
import io.hvd.tensor.Tensor;
import java.util.List;

/** A data plane over memory that ranks share; tensors from one rank to another take a way of their own. */
public abstract sealed class MemoryCollectives extends HostDataPlane permits OneLevelCollectives, TwoLevelCollectives {
    private final Rounds rounds;
    private final SegmentAllreduce allreduce;
    private final PointToPoint pairs;

    MemoryCollectives(Rounds rounds, SegmentAllreduce allreduce, PointToPoint pairs) {
        this.rounds = rounds;
        this.allreduce = allreduce;
        this.pairs = pairs;
    }

    @Override
    public void report(Activities to) {
        rounds.report(to);
        pairs.report(to);
    }

    @Override
    public final void allreduce(List<Tensor> inputs, List<Tensor> outputs, Reduction how) {
        allreduceUnlessVetoed(inputs, outputs, how);
    }

    @Override
    public boolean allreduceUnlessVetoed(List<Tensor> inputs, List<Tensor> outputs, Reduction how) {
        return allreduce.run(inputs, outputs, how);
    }

    @Override
    public void vetoAllreduce(Device device, long elements, Reduction how) {
        allreduce.veto(elements, how);
    }

    /** No back end that is built upon shared memory begins several collectives at once. */
    @Override
    public final BegunCollectives begun() {
        return BegunCollectives.atOnce(this);
    }

    @Override
    public final void send(Tensor tensor, int to) {
        pairs.send(tensor, to);
    }

    @Override
    public final void receive(Tensor tensor, int from) {
        pairs.receive(tensor, from);
    }

    /** Leaves the shared memory; the way of single tensors stays open. */
    public final void leave() {
        rounds.close();
    }

    @Override
    public void close() {
        leave();
        pairs.close();
    }

    @Override
    public void abandon() {
        pairs.abandon();
    }
}
