package io.hvd.monitor.view;

import io.hvd.trace.CallSite;
import java.lang.management.ThreadInfo;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;

/**
 * Whether any thread of a rank's process may still make a call. A thread can make none as long as it waits inside hvd,
 * or without a limit for another thread; and it has not moved between two looks if it has begun no further wait.
 *
 * @param awake the first thread that may still act, in words; empty if there is none
 * @param fingerprint the same in two looks only if none of the threads has moved in between
 */
public record Stillness(String awake, long fingerprint) {
    /** The state of a rank whose threads have not been looked at. */
    public static final Stillness UNKNOWN = new Stillness("its threads are unknown", 0);

    /** Threads of the JVM that run no code of the program's, or only what frees memory. */
    private static final Set<String> JVM = Set.of(
            "Reference Handler",
            "Finalizer",
            "Signal Dispatcher",
            "Common-Cleaner",
            "Notification Thread",
            "Attach Listener",
            "Service Thread",
            "Monitor Deflation Thread",
            "Sweeper thread",
            "DestroyJavaVM");

    private static final List<String> JVM_PREFIXES =
            List.of("C1 CompilerThread", "C2 CompilerThread", "JFR ", "Cleaner-");
    /** Threads of Maven's test runner in the JVM of the tests, which talk to Maven alone; the tests run on others. */
    private static final String TEST_RUNNER = "surefire-forkedjvm-";

    private static final List<String> RUNNERS_CODE = List.of("java.", "jdk.", "sun.", "org.apache.maven.");
    /** The threads of hvd's that run the program's code, or on which the program's code may depend. */
    private static final List<String> PROGRAMS_OF_HVD =
            List.of("hvd-rank-", "hvd-reducer-", "hvd-replica-", "hvd-loader-", "hvd-fingerprints", "hvd-checkpoint");

    private static final String HVD = "hvd-";
    private static final Set<String> WAITS_OF_ENGINE = Set.of("await", "submit", "close");

    /**
     * Looks at the threads of this process.
     *
     * @param callers the threads that have made this rank's last calls; such a thread must wait inside hvd, since what
     *     else it waits for may come from outside of the JVM
     */
    public static Stillness of(List<ThreadInfo> threads, Set<Thread> callers) {
        Optional<String> awake = callers.stream()
                .filter(Thread::isAlive)
                .filter(thread -> !waitsInHvd(thread.getStackTrace()) && !isIdle(thread.getStackTrace()))
                .map(thread -> words(thread.getName(), thread.getState(), thread.getStackTrace()))
                .findFirst();
        long fingerprint = 0;
        for (ThreadInfo thread : threads) {
            if (isInternal(thread) || waitsInHvd(thread.getStackTrace())) {
                continue;
            }
            if (waitsForAnotherThread(thread)) {
                // Threads come in any order.
                fingerprint += mixed(thread.getThreadId(), thread.getWaitedCount(), thread.getBlockedCount());
            } else if (awake.isEmpty() && !isIdle(thread.getStackTrace())) {
                awake = Optional.of(words(thread.getThreadName(), thread.getThreadState(), thread.getStackTrace()));
            }
        }
        return new Stillness(awake.orElse(""), fingerprint);
    }

    private static String words(String name, Thread.State state, StackTraceElement[] stack) {
        String place = CallSite.of(stack).orElse(stack.length == 0 ? "an unknown place" : CallSite.describe(stack[0]));
        return "thread \"" + name + "\" is " + state + " at " + place;
    }

    /** Programs may give their own threads such names, so a name says nothing of a thread that runs their code or begins it later. */
    private static boolean isInternal(ThreadInfo thread) {
        String name = thread.getThreadName();
        if (name.startsWith(TEST_RUNNER)) {
            return frames(thread.getStackTrace())
                    .allMatch(frame -> RUNNERS_CODE.stream().anyMatch(frame.getClassName()::startsWith));
        }
        boolean named = JVM.contains(name)
                || JVM_PREFIXES.stream().anyMatch(name::startsWith)
                || (name.startsWith(HVD) && PROGRAMS_OF_HVD.stream().noneMatch(name::startsWith));
        StackTraceElement[] stack = thread.getStackTrace();
        return named && CallSite.of(stack).isEmpty() && !waitsForTheTimeOfATask(stack);
    }

    private static boolean waitsForTheTimeOfATask(StackTraceElement[] stack) {
        return frames(stack)
                .anyMatch(frame -> frame.getClassName().contains("DelayedWorkQueue")
                        || frame.getClassName().equals("java.util.TimerThread"));
    }

    private static boolean waitsForAnotherThread(ThreadInfo thread) {
        boolean waits =
                thread.getThreadState() == Thread.State.WAITING || thread.getThreadState() == Thread.State.BLOCKED;
        return waits && !carriesVirtualThread(thread.getStackTrace());
    }

    /** Such a thread is said to wait while it runs a virtual one. */
    private static boolean carriesVirtualThread(StackTraceElement[] stack) {
        return frames(stack).anyMatch(frame -> frame.getClassName().equals("jdk.internal.vm.Continuation"));
    }

    /** Whether the thread waits for the result of a collective, for the end of the job, or for the ranks that it has spawned. */
    private static boolean waitsInHvd(StackTraceElement[] stack) {
        return frames(stack)
                .anyMatch(frame -> frame.getClassName().equals("io.hvd.engine.Engine")
                                && WAITS_OF_ENGINE.contains(frame.getMethodName())
                        || frame.getClassName().equals("io.hvd.job.RankThreads")
                                && frame.getMethodName().equals("join"));
    }

    /** Whether a pool's thread has nothing to do, and waits for a while for another thread to give it work. */
    private static boolean isIdle(StackTraceElement[] stack) {
        boolean takesWork = frames(stack)
                .anyMatch(frame -> frame.getClassName().equals("java.util.concurrent.ThreadPoolExecutor")
                                && frame.getMethodName().equals("getTask")
                        || frame.getClassName().equals("java.util.concurrent.ForkJoinPool")
                                && frame.getMethodName().equals("awaitWork"));
        return takesWork && !waitsForTheTimeOfATask(stack);
    }

    private static Stream<StackTraceElement> frames(StackTraceElement[] stack) {
        return Arrays.stream(stack);
    }

    private static long mixed(long... values) {
        long hash = 0x9E3779B97F4A7C15L;
        for (long value : values) {
            hash = (hash ^ value) * 0xBF58476D1CE4E5B9L;
            hash ^= hash >>> 29;
        }
        return hash;
    }
}
