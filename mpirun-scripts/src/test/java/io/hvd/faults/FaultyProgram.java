package io.hvd.faults;

import io.hvd.AllreduceOptions;
import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.error.RankMismatchException;
import io.hvd.error.ShutdownException;
import io.hvd.tensor.Tensor;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.locks.LockSupport;

/** A training loop in which one rank misbehaves in the way its argument says; the others do everything right. */
public final class FaultyProgram {
    /** Too few for a static plan. */
    private static final int FEW_STEPS = 3;
    /** Then the ranks no longer negotiate, and wait for each other in the data plane. */
    private static final int MANY_STEPS = 15;

    private static final List<long[]> HOARD = new ArrayList<>();

    private static final int PIECE = 1 << 13;
    private static final int REFUSED = 4;

    private FaultyProgram() {}

    /** The fault, the culprit's rank, and {@code negotiating} if there are to be few healthy steps before. */
    public static void main(String[] args) {
        String fault = args[0];
        int culprit = Integer.parseInt(args[1]);
        int steps = args.length > 2 && !args[2].equals("negotiating") ? MANY_STEPS : FEW_STEPS;
        if (fault.equals("unclosed")) {
            train(Hvd.init(), steps, fault, culprit);
            return;
        }
        try (HvdContext hvd = Hvd.init()) {
            train(hvd, steps, fault, culprit);
        }
        if (fault.equals("refuse")) {
            System.exit(REFUSED);
        }
    }

    private static void train(HvdContext hvd, int steps, String fault, int culprit) {
        System.out.println("PID " + ProcessHandle.current().pid());
        for (int step = 0; step < steps; step++) {
            average(hvd, "gradient", 4);
        }
        if (hvd.rank() == culprit) {
            misbehave(hvd, fault);
        }
        if (fault.equals("two-shapes")) {
            recover(hvd, culprit);
            return;
        }
        if (fault.equals("other-order")) {
            callInOwnOrder(hvd, culprit);
            return;
        }
        if (fault.equals("kill-others-exit")) {
            exitWhenTold(hvd);
        }
        while (!Set.of("none", "unclosed", "refuse", "kill-others-close").contains(fault)) {
            average(hvd, "gradient", fault.equals("shape") && hvd.rank() == culprit ? 5 : 4);
        }
    }

    private static void exitWhenTold(HvdContext hvd) {
        try {
            while (true) {
                average(hvd, "gradient", 4);
            }
        } catch (ShutdownException told) {
            System.exit(7);
        }
    }

    private static void misbehave(HvdContext hvd, String fault) {
        switch (fault) {
            case "refuse" -> Hvd.recordFailure("the data has no rows", REFUSED);
            case "throw" -> throw new IllegalStateException("the disk is full");
            case "thread" -> {
                Thread background = new Thread(
                        () -> {
                            throw new IllegalStateException("the reader has lost its file");
                        },
                        "reader");
                background.start();
                LockSupport.park();
            }
            case "main-with-thread-left" -> {
                new Thread(LockSupport::park, "left-over").start();
                throw new IllegalStateException("main is gone, a thread is not");
            }
            case "oom" -> hoard(new ArrayList<>());
            case "oom-thread" -> {
                new Thread(() -> hoard(HOARD), "hoarder").start();
                LockSupport.park();
            }
            case "exit0" -> System.exit(0);
            case "exit3" -> System.exit(3);
            case "kill", "kill-others-close", "kill-others-exit" ->
                ProcessHandle.of(ProcessHandle.current().pid()).ifPresent(FaultyProgram::killHard);
            case "early-close" -> hvd.close();
            default -> {}
        }
    }

    /** Until the heap is full; what a thread has put into HOARD stays there when the thread has ended. */
    private static void hoard(List<long[]> hoard) {
        while (true) {
            hoard.add(new long[PIECE]);
        }
    }

    /** kill -9: the JVM gets no chance to do anything. */
    private static void killHard(ProcessHandle self) {
        System.out.println("KILLED AT " + System.currentTimeMillis());
        try {
            new ProcessBuilder("sh", "-c", "kill -9 " + self.pid()).start().waitFor();
        } catch (java.io.IOException | InterruptedException e) {
            throw new IllegalStateException(e);
        }
        LockSupport.park();
    }

    /** A mismatch is caught by the program, which then goes on. */
    private static void recover(HvdContext hvd, int culprit) {
        try {
            average(hvd, "fc1.weight", hvd.rank() == culprit ? 5 : 4);
        } catch (RankMismatchException e) {
            System.out.println("CAUGHT " + e.getMessage());
        }
        average(hvd, "fc1.weight", 4);
        System.out.println("WENT ON");
    }

    /** In strict mode the first calls are refused already. */
    private static void callInOwnOrder(HvdContext hvd, int culprit) {
        Tensor tensor = Tensor.of(new float[4]);
        try {
            if (hvd.rank() == culprit) {
                hvd.allreduce("bias", tensor);
            } else {
                hvd.broadcast("weight", tensor, 0);
            }
            System.out.println("LET THROUGH");
        } catch (RankMismatchException e) {
            System.out.println("CAUGHT " + e.getMessage());
        }
        average(hvd, "gradient", 4);
        System.out.println("WENT ON");
    }

    private static void average(HvdContext hvd, String name, int size) {
        hvd.allreduceInPlace(name, Tensor.of(new float[size]), AllreduceOptions.average());
    }
}
