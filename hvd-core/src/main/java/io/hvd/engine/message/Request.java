package io.hvd.engine.message;

import io.hvd.spi.OpKind;
import io.hvd.spi.Reduction;
import io.hvd.tensor.DType;
import io.hvd.tensor.Device;
import io.hvd.tensor.JoinDivisor;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.util.List;
import java.util.Optional;

/**
 * What one rank asks for under a name; the other ranks must ask for the same. Each collective is a record that holds
 * what it needs and nothing else. Ranks are numbered within the process set, except where a component says global.
 */
public sealed interface Request
        permits Request.OfTensor,
                Request.Rooted,
                Moving,
                Request.Barrier,
                Request.Join,
                Request.AddProcessSet,
                Request.RemoveProcessSet {
    String name();

    OpKind kind();

    /**
     * The group of operations that become ready together with this one; {@link Group#NONE} if it belongs to no group.
     */
    default Group group() {
        return Group.NONE;
    }

    /** Number of bytes of this rank's tensor on the wire; 0 without a tensor. */
    default long wireBytes() {
        return 0;
    }

    /** True for a barrier with a time limit. */
    default boolean hasLimit() {
        return false;
    }

    /** True if both requests may be carried out as one fused operation. */
    default boolean fusesWith(Request other) {
        return false;
    }

    /** The tensor's type and shape in words; empty where this rank brings no tensor. */
    default String detail() {
        return "";
    }

    /**
     * Returns this request for a tensor on another device; a request without a tensor stays as it is.
     *
     * @param place the device as the other ranks know it
     */
    default Request on(Device place) {
        return this;
    }

    /**
     * The type, shape and device of a tensor.
     *
     * @param device {@code cuda:n} is the rank's own n-th GPU
     */
    record Payload(DType dtype, Shape shape, Device device) {
        static Payload of(Tensor tensor) {
            return new Payload(tensor.dtype(), tensor.shape(), tensor.device());
        }

        Payload on(Device place) {
            return new Payload(dtype, shape, place);
        }

        /** Bytes of the tensor. */
        long bytes() {
            return shape.elements() * dtype.bytes();
        }

        /** Type and shape in words. */
        String detail() {
            return dtype + shape.toString();
        }

        /** The device in words; each rank counts its own GPUs. */
        public String place() {
            return device.isCpu() ? "CPU" : "CUDA (the rank's GPU " + device.index() + ")";
        }

        /** Whether a tensor has this type and shape, and both are in the host's memory. */
        boolean isHostTensor(Tensor tensor) {
            return dtype == tensor.dtype() && device.isCpu() && tensor.device().isCpu() && shape.equals(tensor.shape());
        }
    }

    /**
     * Operations that become ready together.
     *
     * @param members number of operations
     */
    record Group(String name, int members) {
        public static final Group NONE = new Group("", 0);

        public boolean isNone() {
            return members == 0;
        }
    }

    /** A request to which every rank that makes it brings a tensor. */
    sealed interface OfTensor extends Request
            permits Reducing, Moving.Transfer, Moving.Allgather, Moving.Gather, Moving.Broadcast, Moving.Alltoall {
        Payload payload();

        default DType dtype() {
            return payload().dtype();
        }

        default Shape shape() {
            return payload().shape();
        }

        default Device device() {
            return payload().device();
        }

        @Override
        default long wireBytes() {
            return payload().bytes();
        }

        @Override
        default String detail() {
            return payload().detail();
        }
    }

    /** A collective that starts from one rank or ends at it. */
    sealed interface Rooted extends Request permits Reducing.Reduce, Moving.Gather, Moving.Broadcast, Moving.Scatter {
        int root();
    }

    /** @param limitMillis how long a rank waits for the others, in milliseconds; 0 means for ever */
    record Barrier(String name, long limitMillis) implements Request {
        @Override
        public OpKind kind() {
            return OpKind.BARRIER;
        }

        @Override
        public boolean hasLimit() {
            return limitMillis > 0;
        }

        @Override
        public String detail() {
            return hasLimit() ? "within " + limitMillis + " ms" : "";
        }
    }

    record Join(String name, JoinDivisor divisor) implements Request {
        @Override
        public OpKind kind() {
            return OpKind.JOIN;
        }
    }

    /** @param members global ranks, ascending */
    record AddProcessSet(String name, List<Integer> members) implements Request {
        public AddProcessSet {
            members = List.copyOf(members);
        }

        @Override
        public OpKind kind() {
            return OpKind.ADD_PROCESS_SET;
        }
    }

    /** @param set the number of the process set */
    record RemoveProcessSet(String name, int set) implements Request {
        @Override
        public OpKind kind() {
            return OpKind.REMOVE_PROCESS_SET;
        }
    }

    static Reducing reduce(String name, Tensor tensor, Reduction how, int root) {
        return new Reducing.Reduce(name, Payload.of(tensor), how, root);
    }

    /** An allreduce or a reducescatter that belongs to no group. */
    static Reducing reduction(String name, OpKind kind, Tensor tensor, Reduction how) {
        return grouped(name, kind, tensor, how, Group.NONE);
    }

    /** An allreduce or a reducescatter that belongs to a group. */
    static Reducing grouped(String name, OpKind kind, Tensor tensor, Reduction how, Group group) {
        Payload payload = Payload.of(tensor);
        return switch (kind) {
            case ALLREDUCE -> new Reducing.Allreduce(name, payload, how, group);
            case REDUCESCATTER -> new Reducing.Reducescatter(name, payload, how, group);
            default -> throw new IllegalArgumentException(kind + " is no reduction of a group");
        };
    }

    static Request allgather(String name, Tensor tensor, Group group) {
        return new Moving.Allgather(name, Payload.of(tensor), group);
    }

    static Request broadcast(String name, Tensor tensor, int root) {
        return new Moving.Broadcast(name, Payload.of(tensor), root);
    }

    static Request gather(String name, Tensor tensor, int root) {
        return new Moving.Gather(name, Payload.of(tensor), root);
    }

    /** @param tensor the root's tensor; null on the other ranks */
    static Request scatter(String name, Tensor tensor, int root) {
        return new Moving.Scatter(name, Optional.ofNullable(tensor).map(Payload::of), root);
    }

    /** @param rows number of rows for each rank */
    static Request alltoall(String name, Tensor tensor, List<Long> rows) {
        return new Moving.Alltoall(name, Payload.of(tensor), rows);
    }

    /** @param to the rank at the other end */
    static Request send(String name, Tensor tensor, int to) {
        return new Moving.Send(name, Payload.of(tensor), to);
    }

    /** @param from the rank at the other end */
    static Request receive(String name, Tensor tensor, int from) {
        return new Moving.Receive(name, Payload.of(tensor), from);
    }
}
