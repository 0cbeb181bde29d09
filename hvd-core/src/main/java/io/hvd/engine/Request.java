package io.hvd.engine;

import io.hvd.tensor.DType;
import io.hvd.tensor.Device;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;

/**
 * What one rank wants done under a name; the other ranks must want the same.
 *
 * @param wire type in which the elements travel
 * @param root rank that a broadcast starts from, 0 for everything else
 */
public record Request(
        String name,
        OpKind kind,
        DType dtype,
        Shape shape,
        Device.Kind device,
        ReduceOp op,
        DType wire,
        double prescale,
        double postscale,
        int root) {

    public static Request allreduce(
            String name, Tensor tensor, ReduceOp op, DType wire, double prescale, double postscale) {
        return new Request(
                name,
                OpKind.ALLREDUCE,
                tensor.dtype(),
                tensor.shape(),
                tensor.device().kind(),
                op,
                wire,
                prescale,
                postscale,
                0);
    }

    public static Request allgather(String name, Tensor tensor) {
        return plain(name, OpKind.ALLGATHER, tensor, 0);
    }

    public static Request broadcast(String name, Tensor tensor, int root) {
        return plain(name, OpKind.BROADCAST, tensor, root);
    }

    public static Request barrier(String name) {
        return new Request(
                name, OpKind.BARRIER, DType.UINT8, Shape.scalar(), Device.Kind.CPU, ReduceOp.SUM, DType.UINT8, 1, 1, 0);
    }

    private static Request plain(String name, OpKind kind, Tensor tensor, int root) {
        return new Request(
                name,
                kind,
                tensor.dtype(),
                tensor.shape(),
                tensor.device().kind(),
                ReduceOp.SUM,
                tensor.dtype(),
                1,
                1,
                root);
    }

    /** Bytes that travel. */
    public long wireBytes() {
        return shape.elements() * wire.bytes();
    }

    /** True if both may share one fused operation. */
    boolean fusesWith(Request other) {
        return kind == other.kind
                && dtype == other.dtype
                && wire == other.wire
                && device == other.device
                && op == other.op
                && root == other.root
                && prescale == other.prescale
                && postscale == other.postscale;
    }
}
