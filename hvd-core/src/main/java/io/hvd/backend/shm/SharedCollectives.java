package io.hvd.backend.shm;

import io.hvd.spi.Activities;
import io.hvd.spi.BegunCollectives;
import io.hvd.spi.DataPlane;
import io.hvd.spi.OpKind;
import io.hvd.spi.Reduction;
import io.hvd.tensor.DType;
import io.hvd.tensor.Device;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/** Carries out some kinds of operations through a segment, and all others by the back end beneath. */
abstract class SharedCollectives implements DataPlane {
    private final Set<OpKind> kinds;
    private final Rounds rounds;
    private final SegmentAllreduce allreduce;
    private final DataPlane beneath;

    /**
     * @param kinds the kinds of operations that go through the segment
     * @param beneath the data plane of the same ranks without shared memory
     */
    SharedCollectives(Set<OpKind> kinds, Rounds rounds, SegmentAllreduce allreduce, DataPlane beneath) {
        this.kinds = kinds;
        this.rounds = rounds;
        this.allreduce = allreduce;
        this.beneath = beneath;
    }

    @Override
    public void report(Activities to) {
        rounds.report(to);
        beneath.report(to);
    }

    @Override
    public void allreduce(List<Tensor> inputs, List<Tensor> outputs, Reduction how) {
        allreduceUnlessVetoed(inputs, outputs, how);
    }

    @Override
    public boolean takesVetoes(Device device) {
        return device.isCpu();
    }

    @Override
    public boolean allreduceUnlessVetoed(List<Tensor> inputs, List<Tensor> outputs, Reduction how) {
        return allreduce.run(inputs, outputs, how);
    }

    @Override
    public void vetoAllreduce(Device device, long elements, Reduction how) {
        allreduce.veto(elements, how);
    }

    @Override
    public void alltoall(Tensor input, Tensor output, long[] sent, long[] received, long longest) {
        beneath.alltoall(input, output, sent, received, longest);
    }

    /** No back end that is built upon shared memory begins several collectives at once. */
    @Override
    public BegunCollectives begun() {
        return BegunCollectives.atOnce(this);
    }

    @Override
    public Optional<String> refuses(OpKind kind, Device device, DType dtype, Reduction how) {
        boolean ours = device.isCpu() && kinds.contains(kind);
        return ours ? Optional.empty() : beneath.refuses(kind, device, dtype, how);
    }

    @Override
    public Tensor output(Device device, DType dtype, Shape shape) {
        return beneath.output(device, dtype, shape);
    }

    @Override
    public Completion completion() {
        return beneath.completion();
    }

    @Override
    public void reduce(Tensor input, Tensor output, Reduction how, int root) {
        beneath.reduce(input, output, how, root);
    }

    @Override
    public void gather(Tensor input, Tensor output, long[] elements, int root) {
        beneath.gather(input, output, elements, root);
    }

    @Override
    public void scatter(Tensor input, Tensor output, long[] elements, int root) {
        beneath.scatter(input, output, elements, root);
    }

    @Override
    public void send(Tensor tensor, int to) {
        beneath.send(tensor, to);
    }

    @Override
    public void receive(Tensor tensor, int from) {
        beneath.receive(tensor, from);
    }

    /** Releases the segment; the back end beneath stays. */
    void leave() {
        rounds.close();
    }

    @Override
    public void close() {
        leave();
        beneath.close();
    }

    @Override
    public void abandon() {
        beneath.abandon();
    }
}
