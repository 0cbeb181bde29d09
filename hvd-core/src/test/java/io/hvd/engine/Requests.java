package io.hvd.engine;

import io.hvd.tensor.DType;
import io.hvd.tensor.Device;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Shape;

/** Requests for the tests of this package, without tensors behind them. */
final class Requests {
    private Requests() {}

    /** A float32 sum of so many bytes. */
    static Request sum(String name, long bytes) {
        return allreduce(name, DType.FLOAT32, Shape.of(bytes / 4), ReduceOp.SUM);
    }

    static Request allreduce(String name, DType type, Shape shape, ReduceOp op) {
        return new Request(name, OpKind.ALLREDUCE, type, shape, Device.Kind.CPU, op, type, 1, 1, 0);
    }

    static Request wired(String name, DType wire) {
        return new Request(
                name, OpKind.ALLREDUCE, DType.FLOAT32, Shape.of(4), Device.Kind.CPU, ReduceOp.SUM, wire, 1, 1, 0);
    }

    static Request scaled(String name, double prescale, double postscale) {
        return new Request(
                name,
                OpKind.ALLREDUCE,
                DType.FLOAT32,
                Shape.of(4),
                Device.Kind.CPU,
                ReduceOp.SUM,
                DType.FLOAT32,
                prescale,
                postscale,
                0);
    }

    static Request on(Device.Kind device, OpKind kind, String name) {
        return new Request(name, kind, DType.FLOAT32, Shape.of(4), device, ReduceOp.SUM, DType.FLOAT32, 1, 1, 0);
    }

    static Request gather(String name, DType type, long... dims) {
        return new Request(name, OpKind.ALLGATHER, type, Shape.of(dims), Device.Kind.CPU, ReduceOp.SUM, type, 1, 1, 0);
    }

    static Request broadcast(String name, int root, long... dims) {
        return new Request(
                name,
                OpKind.BROADCAST,
                DType.FLOAT32,
                Shape.of(dims),
                Device.Kind.CPU,
                ReduceOp.SUM,
                DType.FLOAT32,
                1,
                1,
                root);
    }
}
