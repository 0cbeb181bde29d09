package io.hvd.host.memory;

import io.hvd.spi.Activities;
import io.hvd.spi.BegunCollectives;
import io.hvd.spi.Collectives;
import io.hvd.spi.Collectives.Completion;
import io.hvd.spi.Reduction;
import io.hvd.spi.VetoableAllreduce;
import io.hvd.tensor.Device;
import io.hvd.tensor.Tensor;
import java.util.List;

/**
 * The outer level by way of a data plane of its ranks.
 *
 * @param votes null if no allreduce is ever vetoed
 */
record PlaneBetween(Collectives plane, VetoableAllreduce votes, BegunCollectives begun) implements OuterLevel {
    @Override
    public void report(Activities to) {
        plane.report(to);
    }

    @Override
    public boolean allreduceUnlessVetoed(Tensor tensor, Reduction how) {
        List<Tensor> only = List.of(tensor);
        if (votes != null) {
            return votes.allreduceUnlessVetoed(only, only, how);
        }
        plane.allreduce(only, only, how);
        return true;
    }

    @Override
    public void veto(long elements, Reduction how) {
        votes.vetoAllreduce(Device.CPU, elements, how);
    }

    @Override
    public Completion beginAllreduce(Tensor tensor, Reduction how) {
        return begun.beginAllreduce(tensor, how);
    }

    @Override
    public Completion beginAllgather(Tensor input, Tensor output, long[] elements) {
        return begun.beginAllgather(input, output, elements);
    }

    @Override
    public Completion beginBroadcast(Tensor tensor, int root) {
        return begun.beginBroadcast(tensor, root);
    }

    @Override
    public Completion beginAlltoall(Tensor input, Tensor output, long[] sent, long[] received, long longest) {
        return begun.beginAlltoall(input, output, sent, received, longest);
    }

    @Override
    public void abandon() {
        plane.abandon();
    }

    @Override
    public void close() {
        plane.close();
    }
}
