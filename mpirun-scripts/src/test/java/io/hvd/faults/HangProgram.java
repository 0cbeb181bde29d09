package io.hvd.faults;

import io.hvd.AllreduceOptions;
import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.Phase;
import io.hvd.tensor.Tensor;
import java.time.Duration;
import java.util.concurrent.locks.LockSupport;

/** A training loop that comes to a halt without anybody failing: one rank does not do what the others wait for. */
public final class HangProgram {
    /** Too few for a static plan. */
    private static final int FEW_STEPS = 3;
    /** Then the ranks no longer negotiate. */
    private static final int MANY_STEPS = 15;

    private HangProgram() {}

    public static void main(String[] args) {
        int culprit = Integer.parseInt(args[1]);
        if (args[0].equals("threads")) {
            Hvd.spawn(3, hvd -> trainBeside(hvd, culprit));
            return;
        }
        try (HvdContext hvd = Hvd.init()) {
            System.out.println("PID " + ProcessHandle.current().pid());
            if (args[0].equals("omit")) {
                leaveOneOut(hvd, culprit);
            } else if (args[0].equals("unnamed")) {
                leaveAnUnnamedOneOut(hvd, culprit);
            }
            boolean settled = args.length > 2 && args[2].equals("settled");
            trainWell(hvd, settled ? MANY_STEPS : FEW_STEPS);
            if (hvd.rank() == culprit) {
                misbehave(hvd, args[0], culprit);
            } else if (args[0].equals("throw")) {
                waitForALockThatNobodyGives();
            } else if (args[0].equals("uneven")) {
                trainSlowly(hvd);
            } else if (args[0].equals("transfer")) {
                transfer(hvd);
            }
            if (settled) {
                average(hvd, "gradient");
            }
            average(hvd, "a");
            if (!args[0].equals("skip") || hvd.rank() != culprit) {
                average(hvd, "b");
            }
            average(hvd, "c");
        }
    }

    /** On a busy machine a rank may be late in its first steps, for longer than the limit of a job that hangs. */
    private static void trainWell(HvdContext hvd, int steps) {
        try (Phase start = hvd.phase("the first steps", Duration.ofMinutes(5))) {
            for (int step = 0; step < steps; step++) {
                average(hvd, "gradient");
            }
        }
    }

    /** Ranks as threads. */
    private static Void trainBeside(HvdContext hvd, int culprit) {
        average(hvd, "gradient");
        if (hvd.rank() == culprit) {
            waitForALockThatNobodyGives();
        }
        average(hvd, "a");
        return null;
    }

    private static void misbehave(HvdContext hvd, String fault, int culprit) {
        switch (fault) {
            case "stop" -> {
                // Long enough for the others to hear what was called last.
                LockSupport.parkNanos(1_000_000_000L);
                stopMyself();
            }
            case "branch" -> hvd.broadcast("weights", Tensor.of(1f), 0);
            case "stuck" -> waitForALockThatNobodyGives();
            case "phase", "transfer" -> {
                try (Phase phase = hvd.phase("evaluation", Duration.ofSeconds(60))) {
                    LockSupport.parkNanos(10_000_000_000L);
                }
            }
            case "late" -> LockSupport.parkNanos(4_000_000_000L);
            case "uneven" -> hvd.join();
            case "receive" -> hvd.receive(Tensor.of(1f), (culprit + 1) % hvd.size(), 7);
            case "throw" -> throw new IllegalStateException("seen only when close() returns");
            default -> {}
        }
    }

    /** From the first rank to the second one. */
    private static void transfer(HvdContext hvd) {
        if (hvd.rank() == 0) {
            hvd.send(Tensor.of(1f), 1, 7);
        } else {
            hvd.receive(Tensor.of(0f), 0, 7);
        }
        System.out.println("TRANSFERRED");
    }

    /** The other rank has run out of data long before. */
    private static void trainSlowly(HvdContext hvd) {
        for (int step = 0; step < 10; step++) {
            average(hvd, "gradient");
            LockSupport.parkNanos(1_000_000_000L);
        }
        hvd.join();
    }

    /** kill -STOP: the process stands still, and MPI does not notice. */
    private static void stopMyself() {
        long self = ProcessHandle.current().pid();
        try {
            new ProcessBuilder("sh", "-c", "kill -STOP " + self).start().waitFor();
        } catch (java.io.IOException | InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private static void waitForALockThatNobodyGives() {
        while (true) {
            LockSupport.park();
        }
    }

    private static void average(HvdContext hvd, String name) {
        hvd.allreduceInPlace(name, Tensor.of(new float[4]), AllreduceOptions.average());
    }

    /** In its last step the culprit leaves out the second of three calls. */
    private static void leaveOneOut(HvdContext hvd, int culprit) {
        for (int step = 1; step <= FEW_STEPS; step++) {
            hvd.allreduce("loss", Tensor.of(new float[1]));
            if (hvd.rank() != culprit || step < FEW_STEPS) {
                hvd.allreduce("weights", Tensor.of(new float[4]));
            }
            hvd.allreduce("bias", Tensor.of(new float[2]));
        }
    }

    /** In its second step the culprit leaves out the second of three calls, which have no names of their own. */
    private static void leaveAnUnnamedOneOut(HvdContext hvd, int culprit) {
        for (int step = 1; step <= FEW_STEPS; step++) {
            hvd.allreduceInPlace(null, Tensor.of(new float[4]), AllreduceOptions.average());
            if (hvd.rank() != culprit || step != 2) {
                hvd.allreduceInPlace(null, Tensor.of(new float[4]), AllreduceOptions.average());
            }
            hvd.allreduceInPlace(null, Tensor.of(new float[4]), AllreduceOptions.average());
        }
    }
}
