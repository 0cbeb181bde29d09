package io.hvd.engine;

import io.hvd.config.EngineSettings;
import io.hvd.spi.OpKind;
import io.hvd.spi.Reduction;
import io.hvd.tensor.DType;
import io.hvd.tensor.Device;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Shape;
import java.util.BitSet;
import java.util.List;

/** Requests and announcements for the tests of this package, without tensors behind them. */
final class Requests {
    /** Fusion, cache and static plans as a test wants them. */
    static EngineSettings settings(long fusionThresholdBytes, long cycleNanos) {
        return new EngineSettings(fusionThresholdBytes, true, cycleNanos, 1024, 0, true, false);
    }

    private Requests() {}

    /** A float32 sum of so many bytes. */
    static Request sum(String name, long bytes) {
        return allreduce(name, DType.FLOAT32, Shape.of(bytes / 4), ReduceOp.SUM);
    }

    static Request allreduce(String name, DType type, Shape shape, ReduceOp op) {
        return request(name, OpKind.ALLREDUCE, type, shape, Device.CPU, new Reduction(op, type, 1, 1), 0);
    }

    static Request wired(String name, DType wire) {
        return four(name, new Reduction(ReduceOp.SUM, wire, 1, 1));
    }

    static Request scaled(String name, double prescale, double postscale) {
        return four(name, new Reduction(ReduceOp.SUM, DType.FLOAT32, prescale, postscale));
    }

    private static Request four(String name, Reduction how) {
        return request(name, OpKind.ALLREDUCE, DType.FLOAT32, Shape.of(4), Device.CPU, how, 0);
    }

    static Request on(Device device, OpKind kind, String name) {
        return request(name, kind, DType.FLOAT32, Shape.of(4), device, plain(DType.FLOAT32), 0);
    }

    static Request gather(String name, DType type, long... dims) {
        return request(name, OpKind.ALLGATHER, type, Shape.of(dims), Device.CPU, plain(type), 0);
    }

    static Request broadcast(String name, int root, long... dims) {
        return request(name, OpKind.BROADCAST, DType.FLOAT32, Shape.of(dims), Device.CPU, plain(DType.FLOAT32), root);
    }

    static Request request(
            String name, OpKind kind, DType type, Shape shape, Device device, Reduction how, long argument) {
        return new Request(
                name, kind, new Request.Payload(type, shape, device), how, argument, List.of(), Request.Group.NONE);
    }

    private static Reduction plain(DType type) {
        return new Reduction(ReduceOp.SUM, type, 1, 1);
    }

    /** An announcement of requests that the coordinator does not know, to the set of all ranks. */
    static Announcement wants(Request... fresh) {
        return wants(List.of(fresh));
    }

    static Announcement wants(List<Request> fresh) {
        return new Announcement(List.of(wishes(fresh)), false, "");
    }

    static Announcement closes(Request... fresh) {
        return new Announcement(List.of(wishes(List.of(fresh))), true, "");
    }

    static Announcement breaks(String why) {
        return new Announcement(List.of(), false, why);
    }

    private static Announcement.Wishes wishes(List<Request> fresh) {
        return new Announcement.Wishes(0, 0, 0, new BitSet(), fresh, List.of());
    }
}
