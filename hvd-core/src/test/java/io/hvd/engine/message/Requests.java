package io.hvd.engine.message;

import io.hvd.config.EngineSettings;
import io.hvd.spi.Reduction;
import io.hvd.tensor.DType;
import io.hvd.tensor.Device;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Shape;
import java.util.BitSet;
import java.util.List;

/** Requests and announcements for the tests of this package, without tensors behind them. */
public final class Requests {
    /** Fusion, cache and static plans as a test wants them. */
    public static EngineSettings settings(long fusionThresholdBytes, long cycleNanos) {
        return new EngineSettings(fusionThresholdBytes, true, cycleNanos, 1024, 0, true, false, 0, 0);
    }

    private Requests() {}

    /** A float32 sum of so many bytes. */
    public static Reducing.Allreduce sum(String name, long bytes) {
        return allreduce(name, DType.FLOAT32, Shape.of(bytes / 4), ReduceOp.SUM);
    }

    /** A float32 sum of so many bytes, of a group. */
    public static Reducing.Allreduce sum(String name, long bytes, Request.Group group) {
        return in(group, sum(name, bytes));
    }

    public static Reducing.Allreduce in(Request.Group group, Reducing.Allreduce alone) {
        return new Reducing.Allreduce(alone.name(), alone.payload(), alone.how(), group);
    }

    public static Reducing.Allreduce allreduce(String name, DType type, Shape shape, ReduceOp op) {
        return new Reducing.Allreduce(name, payload(type, shape), new Reduction(op, type, 1, 1), Request.Group.NONE);
    }

    public static Reducing.Allreduce wired(String name, DType wire) {
        return four(name, new Reduction(ReduceOp.SUM, wire, 1, 1));
    }

    public static Reducing.Allreduce scaled(String name, double prescale, double postscale) {
        return four(name, new Reduction(ReduceOp.SUM, DType.FLOAT32, prescale, postscale));
    }

    private static Reducing.Allreduce four(String name, Reduction how) {
        return new Reducing.Allreduce(name, payload(DType.FLOAT32, Shape.of(4)), how, Request.Group.NONE);
    }

    public static Request.Payload payload(DType type, Shape shape) {
        return new Request.Payload(type, shape, Device.CPU);
    }

    public static Moving.Allgather gather(String name, DType type, long... dims) {
        return new Moving.Allgather(name, payload(type, Shape.of(dims)), Request.Group.NONE);
    }

    public static Moving.Broadcast broadcast(String name, int root, long... dims) {
        return new Moving.Broadcast(name, payload(DType.FLOAT32, Shape.of(dims)), root);
    }

    /** An announcement of requests that the coordinator does not know, to the set of all ranks. */
    public static Announcement wants(Request... fresh) {
        return wants(List.of(fresh));
    }

    public static Announcement wants(List<Request> fresh) {
        return new Announcement(List.of(wishes(fresh)), false, "");
    }

    public static Announcement closes(Request... fresh) {
        return new Announcement(List.of(wishes(List.of(fresh))), true, "");
    }

    public static Announcement breaks(String why) {
        return new Announcement(List.of(), false, why);
    }

    private static Announcement.Wishes wishes(List<Request> fresh) {
        return new Announcement.Wishes(0, 0, 0, new BitSet(), fresh, List.of());
    }
}
