package io.hvd.engine;

import io.hvd.spi.OpKind;
import io.hvd.spi.Reduction;
import io.hvd.tensor.DType;
import io.hvd.tensor.Device;
import io.hvd.tensor.JoinDivisor;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.util.List;

/**
 * What one rank wants done under a name; the other ranks must want the same. Ranks are numbered within
 * the process set here.
 *
 * @param how reduction of an allreduce and the like; of the others only the type on the wire counts
 * @param argument the root of a rooted operation, the other rank of a transfer, the limit of a barrier
 *     in milliseconds (0 for none), the divisor of a join; else 0
 * @param splits rows for each rank of an alltoall, or the members of a process set; else empty
 * @param group operations that run together or not at all; {@link Group#NONE} for one alone
 */
public record Request(
        String name, OpKind kind, Payload payload, Reduction how, long argument, List<Long> splits, Group group) {

    public Request {
        splits = List.copyOf(splits);
    }

    /**
     * What a tensor is like.
     *
     * @param device {@code cuda:n} is the rank's n-th GPU of its own
     */
    public record Payload(DType dtype, Shape shape, Device device) {
        static final Payload NONE = new Payload(DType.UINT8, Shape.of(0), Device.CPU);

        static Payload of(Tensor tensor) {
            return new Payload(tensor.dtype(), tensor.shape(), tensor.device());
        }
    }

    /**
     * Operations that become ready together.
     *
     * @param members number of operations
     */
    public record Group(String name, int members) {
        public static final Group NONE = new Group("", 0);

        boolean isNone() {
            return members == 0;
        }
    }

    /** An allreduce, a reducescatter, or with a root a reduce. */
    public static Request reduction(String name, OpKind kind, Tensor tensor, Reduction how, int root) {
        return new Request(name, kind, Payload.of(tensor), how, root, List.of(), Group.NONE);
    }

    public static Request allgather(String name, Tensor tensor) {
        return moving(name, OpKind.ALLGATHER, tensor, 0, List.of());
    }

    public static Request broadcast(String name, Tensor tensor, int root) {
        return moving(name, OpKind.BROADCAST, tensor, root, List.of());
    }

    public static Request gather(String name, Tensor tensor, int root) {
        return moving(name, OpKind.GATHER, tensor, root, List.of());
    }

    /** @param tensor null but on the root */
    public static Request scatter(String name, Tensor tensor, int root) {
        return tensor == null
                ? bare(name, OpKind.SCATTER, root, List.of())
                : moving(name, OpKind.SCATTER, tensor, root, List.of());
    }

    /** @param splits number of rows for each rank */
    public static Request alltoall(String name, Tensor tensor, List<Long> splits) {
        return moving(name, OpKind.ALLTOALL, tensor, 0, splits);
    }

    /** @param peer the rank at the other end */
    public static Request transfer(String name, OpKind half, Tensor tensor, int peer) {
        return moving(name, half, tensor, peer, List.of());
    }

    public static Request barrier(String name, long limitMillis) {
        return bare(name, OpKind.BARRIER, limitMillis, List.of());
    }

    public static Request join(String name, JoinDivisor divisor) {
        return bare(name, OpKind.JOIN, divisor.ordinal(), List.of());
    }

    public static Request addProcessSet(String name, List<Integer> members) {
        return bare(
                name,
                OpKind.ADD_PROCESS_SET,
                0,
                members.stream().map(Integer::longValue).toList());
    }

    public static Request removeProcessSet(String name, int id) {
        return bare(name, OpKind.REMOVE_PROCESS_SET, id, List.of());
    }

    private static Request moving(String name, OpKind kind, Tensor tensor, long argument, List<Long> splits) {
        Reduction asItIs = new Reduction(ReduceOp.SUM, tensor.dtype(), 1, 1);
        return new Request(name, kind, Payload.of(tensor), asItIs, argument, splits, Group.NONE);
    }

    private static Request bare(String name, OpKind kind, long argument, List<Long> splits) {
        Reduction nothing = new Reduction(ReduceOp.SUM, Payload.NONE.dtype(), 1, 1);
        return new Request(name, kind, Payload.NONE, nothing, argument, splits, Group.NONE);
    }

    /** @param place where the tensor lies, as the other ranks know it too */
    public Request on(Device place) {
        Payload placed = new Payload(dtype(), shape(), place);
        return new Request(name, kind, placed, how, argument, splits, group);
    }

    public Request in(Group together) {
        return new Request(name, kind, payload, how, argument, splits, together);
    }

    public DType dtype() {
        return payload.dtype();
    }

    public Shape shape() {
        return payload.shape();
    }

    public Device device() {
        return payload.device();
    }

    /** The device in words: which GPU it is, each rank counts for itself. */
    String place() {
        return device().isCpu() ? "CPU" : "CUDA (the rank's GPU " + device().index() + ")";
    }

    JoinDivisor divisor() {
        return JoinDivisor.values()[root()];
    }

    /** The rank that a rooted operation starts from or ends at. */
    int root() {
        return Math.toIntExact(argument);
    }

    /** True for a barrier that does not wait for ever. */
    boolean hasLimit() {
        return kind == OpKind.BARRIER && argument > 0;
    }

    /** Bytes that travel. */
    public long wireBytes() {
        return shape().elements() * how.wire().bytes();
    }

    /** Whether it is such a reduction of a tensor like this one in the host's memory, and of no group. */
    public boolean isReduction(OpKind asked, Tensor tensor, int root) {
        return kind == asked
                && argument == root
                && group.isNone()
                && dtype() == tensor.dtype()
                && device().isCpu()
                && tensor.device().isCpu()
                && shape().equals(tensor.shape());
    }

    /** True if both may share one fused operation. */
    boolean fusesWith(Request other) {
        return kind == other.kind
                && dtype() == other.dtype()
                && device().equals(other.device())
                && how.equals(other.how)
                && argument == other.argument;
    }
}
