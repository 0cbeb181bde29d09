package io.hvd.host.memory;

import io.hvd.kernel.Reducer;
import io.hvd.spi.Activities;
import io.hvd.spi.DataPlane;
import io.hvd.spi.PointToPoint;
import io.hvd.spi.Reduction;
import io.hvd.tensor.Device;
import io.hvd.tensor.Tensor;
import java.util.Arrays;
import java.util.List;

/**
 * The data plane of ranks in several groups that have a memory each. Data moves through the memory inside a group, and
 * between the groups by their carriers. Where leaders carry, a reduce or a reduce-scatter is an allreduce of which each
 * rank takes its part, so that a group's data goes to the others once. Operations that only pass data from one rank to
 * another go through another data plane of the same ranks, which knows no groups.
 */
public final class TwoLevelCollectives extends MemoryCollectives {
    private final TwoLevelAllreduce allreduce;
    private final DataPlane flat;
    private final OuterExchange outer;
    private final Groups groups;
    private final Limits limits;
    /** This rank's number within the set. */
    private final int self;

    private final TwoLevelMovement movement;
    private boolean twoLevels = true;

    /**
     * The same ranks without groups.
     *
     * @param plane their data plane
     * @param pairs the way of a tensor from one rank to another; closed together with the two levels
     */
    public record Flat(DataPlane plane, PointToPoint pairs) {
        /** A data plane that is the way of tensors from rank to rank too. */
        public static Flat of(DataPlane plane) {
            return new Flat(plane, plane);
        }
    }

    /**
     * What two levels are used for.
     *
     * @param worthBytes number of bytes of all ranks from which on broadcast, allgather and reduce-scatter are worth it
     * @param takesVetoes whether an allreduce between the groups can be vetoed
     * @param whyAlwaysTwo why allreduces always use two levels; empty if they need not
     */
    public record Limits(long worthBytes, boolean takesVetoes, String whyAlwaysTwo) {}

    /**
     * @param flat the same ranks without groups
     * @param outer what goes between the groups; null if this rank is no carrier
     */
    public TwoLevelCollectives(
            Rounds rounds, Reducer reducer, Flat flat, OuterLevel outer, Groups groups, Limits limits) {
        this(rounds, reducer, flat, new OuterExchange(rounds, outer, groups), groups, limits);
    }

    private TwoLevelCollectives(
            Rounds rounds, Reducer reducer, Flat flat, OuterExchange outer, Groups groups, Limits limits) {
        this(rounds, reducer, new TwoLevelAllreduce(rounds, reducer, outer), flat, outer, groups, limits);
    }

    private TwoLevelCollectives(
            Rounds rounds,
            Reducer reducer,
            TwoLevelAllreduce allreduce,
            Flat flat,
            OuterExchange outer,
            Groups groups,
            Limits limits) {
        super(rounds, allreduce, flat.pairs());
        this.allreduce = allreduce;
        this.self = groups.member(rounds.segment().rank(), groups.own());
        this.flat = flat.plane();
        this.outer = outer;
        this.groups = groups;
        this.limits = limits;
        this.movement = new TwoLevelMovement(rounds, reducer, outer, groups);
    }

    @Override
    public void report(Activities to) {
        super.report(to);
        outer.report(to);
    }

    @Override
    public boolean takesVetoes(Device device) {
        return device.isCpu() && limits.takesVetoes();
    }

    @Override
    public Levels levels() {
        return limits.whyAlwaysTwo().isEmpty() ? Levels.by(two -> twoLevels = two) : Levels.none(limits.whyAlwaysTwo());
    }

    @Override
    public boolean allreduceUnlessVetoed(List<Tensor> inputs, List<Tensor> outputs, Reduction how) {
        return twoLevels
                ? super.allreduceUnlessVetoed(inputs, outputs, how)
                : flat.allreduceUnlessVetoed(inputs, outputs, how);
    }

    @Override
    public void vetoAllreduce(Device device, long elements, Reduction how) {
        if (twoLevels) {
            super.vetoAllreduce(device, elements, how);
        } else {
            flat.vetoAllreduce(device, elements, how);
        }
    }

    /** Always false, because what goes between the groups may belong to one thread. */
    @Override
    public boolean takesAnyThread(Device device) {
        return false;
    }

    @Override
    public void broadcast(List<Tensor> inputs, List<Tensor> outputs, int root) {
        if (isWorth(inputs.stream().mapToLong(Tensor::bytes).sum())) {
            movement.broadcast(inputs, outputs, root);
        } else {
            flat.broadcast(inputs, outputs, root);
        }
    }

    @Override
    public void allgather(Tensor input, Tensor output, long[] elements) {
        if (isWorth(output.bytes())) {
            movement.allgather(input, output, elements);
        } else {
            flat.allgather(input, output, elements);
        }
    }

    @Override
    public void reduceScatter(Tensor input, Tensor output, long[] elements, Reduction how) {
        if (!groups.allCarry()) {
            long first = Arrays.stream(elements, 0, self).sum();
            allreduce.reduceTo(input, output, first, elements[self], how);
        } else if (isWorth(input.elements() * how.wire().bytes())) {
            movement.reduceScatter(input, output, elements, how);
        } else {
            flat.reduceScatter(input, output, elements, how);
        }
    }

    /** Whether two levels pay for so many bytes; the same answer on every rank. */
    private boolean isWorth(long bytes) {
        return bytes >= limits.worthBytes() && movement.hasRoom();
    }

    @Override
    public void alltoall(Tensor input, Tensor output, long[] sent, long[] received, long longest) {
        flat.alltoall(input, output, sent, received, longest);
    }

    @Override
    public void reduce(Tensor input, Tensor output, Reduction how, int root) {
        if (groups.allCarry()) {
            flat.reduce(input, output, how, root);
        } else {
            allreduce.reduceTo(input, output, 0, self == root ? input.elements() : 0, how);
        }
    }

    @Override
    public void gather(Tensor input, Tensor output, long[] elements, int root) {
        flat.gather(input, output, elements, root);
    }

    @Override
    public void scatter(Tensor input, Tensor output, long[] elements, int root) {
        flat.scatter(input, output, elements, root);
    }

    /** The data plane between the groups is closed before the flat one, because it was made after it. */
    @Override
    public void close() {
        outer.close();
        super.close();
    }

    @Override
    public void abandon() {
        outer.abandon();
        super.abandon();
    }
}
