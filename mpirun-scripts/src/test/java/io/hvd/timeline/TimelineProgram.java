package io.hvd.timeline;

import io.hvd.AllreduceOptions;
import io.hvd.Compression;
import io.hvd.Handle;
import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.tensor.Tensor;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Steps of an imagined training in which one rank computes longer than the others. */
public final class TimelineProgram {
    static final int STEPS = 40;
    static final int LATE_RANK = 2;
    private static final long COMPUTE_MILLIS = 5;
    /** So long the others wait at least for the late rank. */
    private static final long LATE_MILLIS = 50;

    private static final long LOOK_MILLIS = 2;
    private static final int TENSORS = 4;
    private static final int ELEMENTS = 50_000;

    private TimelineProgram() {}

    /** {@code whole} or {@code killed}, and a folder in which each rank says that its part of a step is computed. */
    public static void main(String[] args) throws InterruptedException, IOException {
        Path folder = Path.of(args[1]);
        try (HvdContext hvd = Hvd.init()) {
            callEverythingOnce(hvd);
            hvd.barrier();
            hvd.markStep();
            for (int step = 0; step < STEPS; step++) {
                if (args[0].equals("killed") && hvd.rank() == 0 && step == STEPS / 2) {
                    // The others' events are sent ten times a second, and rank 0 dies in the midst of its own.
                    kill();
                }
                compute(hvd, step, folder);
                exchange(hvd);
                hvd.markStep();
            }
        }
    }

    /** The late rank is so after all others, however busy the machine is. */
    private static void compute(HvdContext hvd, int step, Path folder) throws InterruptedException, IOException {
        TimeUnit.MILLISECONDS.sleep(COMPUTE_MILLIS);
        if (hvd.rank() != LATE_RANK) {
            Files.createFile(folder.resolve(step + "-" + hvd.rank()));
            return;
        }
        for (int rank = 0; rank < hvd.size(); rank++) {
            while (rank != LATE_RANK && Files.notExists(folder.resolve(step + "-" + rank))) {
                TimeUnit.MILLISECONDS.sleep(LOOK_MILLIS);
            }
        }
        TimeUnit.MILLISECONDS.sleep(LATE_MILLIS);
    }

    /** Before the steps, which consist of allreduces only. */
    private static void callEverythingOnce(HvdContext hvd) {
        int n = hvd.size();
        hvd.broadcast("broadcast", Tensor.of(1f), 0);
        hvd.allgather("allgather", Tensor.of(1f));
        hvd.alltoall("alltoall", Tensor.of(new float[n]));
        hvd.reducescatter("reducescatter", Tensor.of(new float[n]), AllreduceOptions.sum());
        hvd.reduce("reduce", Tensor.of(1f), AllreduceOptions.sum(), 0);
        hvd.gather("gather", Tensor.of(1f), 0);
        hvd.scatter("scatter", Tensor.of(new float[n]), 0);
        AllreduceOptions halves = AllreduceOptions.sum().withCompression(Compression.FP16);
        hvd.allreduce("halves", Tensor.of(new float[ELEMENTS]), halves);
        if (hvd.rank() < 2) {
            int peer = 1 - hvd.rank();
            Handle receiving = hvd.receiveAsync(Tensor.of(0f), peer, 1);
            hvd.send(Tensor.of(1f), peer, 1);
            receiving.synchronize();
        }
    }

    private static void exchange(HvdContext hvd) {
        List<Handle> handles = new ArrayList<>();
        for (int i = 0; i < TENSORS; i++) {
            Tensor gradient = Tensor.of(new float[ELEMENTS + i]);
            handles.add(hvd.allreduceAsync("gradient." + i, gradient, AllreduceOptions.average()));
        }
        handles.forEach(Handle::synchronize);
    }

    private static void kill() throws InterruptedException {
        String self = String.valueOf(ProcessHandle.current().pid());
        try {
            new ProcessBuilder("sh", "-c", "kill -9 " + self).start().waitFor();
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }
}
