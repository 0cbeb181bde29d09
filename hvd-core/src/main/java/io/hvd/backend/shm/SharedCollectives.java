package io.hvd.backend.shm;

import io.hvd.spi.Activities;
import io.hvd.spi.Collectives;
import io.hvd.spi.OpKind;
import io.hvd.spi.Reduction;
import io.hvd.tensor.DType;
import io.hvd.tensor.Device;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * What goes through a segment: allreduces, and where all members are on one host what moves much data between all of
 * them. The rest goes the way of the back end beneath.
 */
final class SharedCollectives implements Collectives {
    /** On one host, beside allreduce. */
    private static final Set<OpKind> OURS =
            Set.of(OpKind.BROADCAST, OpKind.ALLGATHER, OpKind.ALLTOALL, OpKind.REDUCESCATTER);

    private final Rounds rounds;
    private final SegmentAllreduce allreduce;
    private final SharedMovement movement;
    private final Collectives beneath;
    /** Null where all members are on one host. */
    private final Crossing across;

    /**
     * @param beneath of the same ranks
     * @param across null where all of them are on one host
     */
    SharedCollectives(Rounds rounds, Collectives beneath, Crossing across) {
        this.rounds = rounds;
        this.allreduce = across == null ? new SharedAllreduce(rounds) : new CrossingAllreduce(rounds, across);
        this.movement = new SharedMovement(rounds);
        this.beneath = beneath;
        this.across = across;
    }

    private boolean isOneHost() {
        return across == null;
    }

    @Override
    public void report(Activities to) {
        rounds.report(to);
        beneath.report(to);
        if (!isOneHost()) {
            across.report(to);
        }
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
    public boolean takesAnyThread(Device device) {
        return device.isCpu() && isOneHost();
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
    public void broadcast(List<Tensor> inputs, List<Tensor> outputs, int root) {
        if (isOneHost()) {
            movement.broadcast(inputs, outputs, root);
        } else {
            beneath.broadcast(inputs, outputs, root);
        }
    }

    @Override
    public void allgather(Tensor input, Tensor output, long[] elements) {
        if (isOneHost()) {
            movement.allgather(input, output, elements);
        } else {
            beneath.allgather(input, output, elements);
        }
    }

    @Override
    public void alltoall(Tensor input, Tensor output, long[] sent, long[] received, long longest) {
        if (isOneHost()) {
            movement.alltoall(input, output, sent, received, longest);
        } else {
            beneath.alltoall(input, output, sent, received, longest);
        }
    }

    @Override
    public void reduceScatter(Tensor input, Tensor output, long[] elements, Reduction how) {
        if (isOneHost()) {
            movement.reduceScatter(input, output, elements, how);
        } else {
            beneath.reduceScatter(input, output, elements, how);
        }
    }

    @Override
    public boolean reaches(Device device) {
        return beneath.reaches(device);
    }

    @Override
    public Optional<String> refuses(OpKind kind, Device device, DType dtype, Reduction how) {
        boolean ours = device.isCpu() && (kind == OpKind.ALLREDUCE || (isOneHost() && OURS.contains(kind)));
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

    /** Gives back what the segment takes; the back end beneath stays. */
    void leave() {
        rounds.close();
    }

    @Override
    public void close() {
        leave();
        if (!isOneHost()) {
            across.close();
        }
        beneath.close();
    }

    @Override
    public void abandon() {
        if (!isOneHost()) {
            across.abandon();
        }
        beneath.abandon();
    }
}
