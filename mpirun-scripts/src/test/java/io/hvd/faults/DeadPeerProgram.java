package io.hvd.faults;

import io.hvd.AllreduceOptions;
import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.error.ShutdownException;
import io.hvd.tensor.Tensor;
import java.io.IOException;
import java.util.concurrent.locks.LockSupport;

/** Ranks that average without negotiating until one of them is killed; the others say when they heard of it. */
public final class DeadPeerProgram {
    /** More than it takes until the steps are settled. */
    private static final int HEALTHY_STEPS = 30;
    /** Far longer than a step: the others wait by then. */
    private static final long WAIT_NANOS = 300_000_000;

    private DeadPeerProgram() {}

    /** The culprit's rank, {@code amid} or {@code awaited}, and the number of elements. */
    public static void main(String[] args) throws IOException {
        int culprit = Integer.parseInt(args[0]);
        int elements = Integer.parseInt(args[2]);
        try (HvdContext hvd = Hvd.init()) {
            System.out.println("PID " + ProcessHandle.current().pid());
            for (int step = 0; step < HEALTHY_STEPS; step++) {
                average(hvd, elements);
            }
            if (hvd.rank() == culprit) {
                endHard(args[1]);
            }
            while (true) {
                average(hvd, elements);
            }
        } catch (ShutdownException told) {
            System.out.println("NOTICED AT " + System.currentTimeMillis() + " " + told.getMessage());
            throw told;
        }
    }

    private static void endHard(String how) throws IOException {
        if (how.equals("awaited")) {
            LockSupport.parkNanos(WAIT_NANOS);
        }
        String kill = "echo KILLED AT $(date +%s%3N); kill -9 "
                + ProcessHandle.current().pid();
        new ProcessBuilder("sh", "-c", kill)
                .redirectOutput(ProcessBuilder.Redirect.INHERIT)
                .start();
        if (how.equals("awaited")) {
            LockSupport.park();
        }
    }

    private static void average(HvdContext hvd, int elements) {
        hvd.allreduceInPlace("gradient", Tensor.of(new float[elements]), AllreduceOptions.average());
    }
}
