package io.hvd.faults;

import io.hvd.AllreduceOptions;
import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.InitOptions;
import io.hvd.error.HvdException;
import io.hvd.tensor.Tensor;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

/**
 * Programs in which every rank waits. In some of them nobody can ever come; in the others a thread of some rank will come
 * after {@link #LONG_MILLIS}.
 */
public final class StandstillProgram {
    /** Several times the limit that the tests set for a standstill. */
    private static final long LONG_MILLIS = 3_000;

    private static final AllreduceOptions SUM = AllreduceOptions.sum();

    static final List<String> DEADLOCKS = List.of("names", "settled", "cycle", "set", "send-join", "idle-threads");
    static final List<String> HEALTHY = List.of(
            "computes",
            "sleeps",
            "scheduled",
            "process",
            "main-computes",
            "main-waits",
            "limit",
            "named-as-hvd",
            "named-as-jvm",
            "scheduled-as-hvd");

    private StandstillProgram() {}

    /** @param args {@code threads}, {@code processes} or {@code cancelled}, and the names of the programs, one after the other */
    public static void main(String[] args) {
        InitOptions options = InitOptions.standard().withProcessSets(List.of(List.of(0, 1)));
        if (args[0].equals("processes")) {
            try (HvdContext hvd = Hvd.init(options)) {
                run(hvd, args[1]);
            }
            return;
        }
        if (args[0].equals("cancelled")) {
            cancelled(options);
            return;
        }
        for (String program : args[1].split(",")) {
            try {
                Hvd.spawn(3, options, hvd -> run(hvd, program));
                System.out.println("ENDED " + program);
            } catch (HvdException e) {
                System.out.println("FAILED " + program + ": " + e.getMessage());
            }
        }
    }

    /** The thread that has called spawn is interrupted while all ranks wait for one of them. */
    private static void cancelled(InitOptions options) {
        Thread caller = Thread.currentThread();
        Hvd.spawn(2, options, hvd -> {
            hvd.barrier();
            if (hvd.rank() == 0) {
                caller.interrupt();
                new CountDownLatch(1).await();
            }
            sum(hvd, "a");
            return null;
        });
    }

    private static Void run(HvdContext hvd, String program) {
        hvd.barrier();
        switch (program) {
            case "names" -> sum(hvd, hvd.rank() == 1 ? "b" : "a");
            case "settled" -> {
                for (int step = 0; step < 20; step++) {
                    sum(hvd, "step");
                }
                if (hvd.rank() == 1) {
                    sum(hvd, "evaluation");
                }
                sum(hvd, "step");
            }
            case "cycle" -> hvd.receive(Tensor.of(0f), (hvd.rank() + 1) % hvd.size(), 5);
            case "set" -> {
                if (hvd.rank() == 0) {
                    hvd.processSet(1).barrier();
                } else {
                    sum(hvd, "all");
                }
            }
            case "send-join" -> {
                if (hvd.rank() == 0) {
                    hvd.send(Tensor.of(1f), 1, 5);
                } else {
                    hvd.join();
                }
            }
            case "idle-threads" -> besideIdleThreads(hvd);
            case "limit" -> limited(hvd);
            case "main-computes" -> {
                if (hvd.rank() == 1) {
                    compute();
                }
                sum(hvd, "a");
            }
            default -> withAThread(hvd, program);
        }
        return null;
    }

    private static void sum(HvdContext hvd, String name) {
        hvd.allreduceInPlace(name, Tensor.of(1f), SUM);
    }

    /** A pool's thread without work, and a thread that waits for one that waits in hvd. */
    private static void besideIdleThreads(HvdContext hvd) {
        var never = new CountDownLatch(1);
        ExecutorService pool = Executors.newCachedThreadPool(StandstillProgram::daemon);
        try {
            pool.submit(() -> {}).get();
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
        daemon(() -> {
                    try {
                        never.await();
                        sum(hvd, "b");
                    } catch (InterruptedException e) {
                        Thread.currentThread().interrupt();
                    }
                })
                .start();
        sum(hvd, hvd.rank() == 1 ? "b" : "a");
        never.countDown();
    }

    /** The barrier ends by itself, and the rank comes then. */
    private static void limited(HvdContext hvd) {
        if (hvd.rank() == 1) {
            try {
                hvd.monitoredBarrier(Duration.ofMillis(LONG_MILLIS));
            } catch (HvdException late) {
                System.out.println("LATE");
            }
        }
        sum(hvd, "a");
        if (hvd.rank() != 1) {
            try {
                hvd.monitoredBarrier(Duration.ofMinutes(1));
            } catch (HvdException late) {
                System.out.println("LATE");
            }
        }
    }

    /** On rank 1 another thread calls "a" after a while; all main threads wait, most of them inside hvd. */
    private static void withAThread(HvdContext hvd, String how) {
        if (hvd.rank() != 1) {
            sum(hvd, "a");
            sum(hvd, "b");
            return;
        }
        ScheduledExecutorService pool = Executors.newScheduledThreadPool(1, task -> named(how, task));
        Callable<Void> later = () -> {
            sum(hvd, "a");
            return null;
        };
        Future<Void> called =
                switch (how) {
                    case "computes", "main-waits" ->
                        pool.submit(() -> {
                            compute();
                            return later.call();
                        });
                    case "sleeps", "named-as-hvd", "named-as-jvm" ->
                        pool.submit(() -> {
                            Thread.sleep(LONG_MILLIS);
                            return later.call();
                        });
                    case "scheduled", "scheduled-as-hvd" -> pool.schedule(later, LONG_MILLIS, TimeUnit.MILLISECONDS);
                    case "process" ->
                        pool.submit(() -> {
                            new ProcessBuilder("sleep", String.valueOf(LONG_MILLIS / 1000))
                                    .start()
                                    .waitFor();
                            return later.call();
                        });
                    default -> throw new IllegalArgumentException(how);
                };
        if (how.equals("main-waits")) {
            awaitEnd(called);
        }
        sum(hvd, "b");
        awaitEnd(called);
        pool.shutdown();
    }

    private static void awaitEnd(Future<?> future) {
        try {
            future.get();
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    private static void compute() {
        long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(2 * LONG_MILLIS);
        while (System.nanoTime() < end) {
            Thread.onSpinWait();
        }
    }

    /** A thread with the name of one of the program's, of hvd's or of the JVM's. */
    private static Thread named(String how, Runnable task) {
        Thread thread = daemon(task);
        if (how.endsWith("as-hvd")) {
            thread.setName("hvd-evaluation");
        } else if (how.endsWith("as-jvm")) {
            thread.setName("Cleaner-0");
        }
        return thread;
    }

    private static Thread daemon(Runnable task) {
        Thread thread = new Thread(task, "user");
        thread.setDaemon(true);
        return thread;
    }
}
