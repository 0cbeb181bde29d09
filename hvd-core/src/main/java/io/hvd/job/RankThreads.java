package io.hvd.job;

import io.hvd.job.failure.EndProcess;
import io.hvd.job.failure.OutputLines;
import io.hvd.trace.CallSite;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ForkJoinWorkerThread;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.stream.Collectors;

/** Ranks as threads of one JVM, each with a membership of its own. */
public final class RankThreads {
    private static final long JOIN_MILLIS = 50;
    /** Together with what a cancellation takes before, less than the two seconds in which it frees what it can. */
    private static final long GIVE_UP_NANOS = 1_500_000_000L;

    private final int size;
    private final SpawnedJob job;
    private final SpawnFailures failures;
    private long giveUpNanos;

    /** A job of its own. @param processSets global ranks of those that are there from the start */
    static RankThreads alone(int size, List<List<Integer>> processSets, JobSettings settings) {
        SpawnFailures failures = new SpawnFailures();
        return new RankThreads(size, new LocalJob(size, processSets, settings, failures), failures);
    }

    /** A job of its own, whose settings are these and nothing else, whatever the environment has. */
    public static RankThreads alone(int size, List<List<Integer>> processSets, Map<String, String> settings) {
        return alone(size, processSets, JobSettings.only(settings));
    }

    /** Together with the other processes that a launcher has started. @param process watches this one */
    static RankThreads launched(
            int size, List<List<Integer>> processSets, JobSettings settings, EndProcess process, StartupHooks hooks) {
        return new RankThreads(size, new LaunchedJob(size, processSets, settings, process, hooks), new SpawnFailures());
    }

    /** @param failures told by the job too */
    RankThreads(int size, SpawnedJob job, SpawnFailures failures) {
        this.size = size;
        this.job = job;
        this.failures = failures;
    }

    /**
     * Runs the program on every rank, and waits for all of them. An interrupt of the calling thread cancels the job; the
     * thread stays interrupted.
     *
     * @return the results by thread
     * @throws io.hvd.error.HvdException if a rank has failed, or the job has been cancelled; the first failure in time is
     *     the cause
     */
    public <R> List<R> run(RankProgram<R> program) {
        if (Thread.currentThread().isInterrupted()) {
            failures.addCancellation(cancelled() + " before any rank had started");
            throw failures.first("");
        }
        List<R> results = new ArrayList<>(Collections.nCopies(size, null));
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < size; i++) {
            int rank = i;
            Thread thread = new Thread(() -> results.set(rank, runRank(rank, program)), "hvd-rank-" + rank);
            // the JVM may end while this thread hangs; otherwise the caller waits for it
            thread.setDaemon(true);
            threads.add(thread);
            thread.start();
        }
        join(threads);
        if (!failures.isEmpty()) {
            throw failures.first(leftBehind(threads));
        }
        return results;
    }

    private static String cancelled() {
        return "the job was cancelled: thread " + Thread.currentThread().getName()
                + ", which had called Hvd.spawn, was interrupted";
    }

    /** Says where threads are that have not ended in time; every call of hvd's throws there. */
    private static String leftBehind(List<Thread> threads) {
        return threads.stream()
                .filter(Thread::isAlive)
                .map(thread -> "; thread " + thread.getName() + " was interrupted, has not ended within "
                        + GIVE_UP_NANOS / 1e9 + " s, and goes on without the job: it is "
                        + thread.getState() + " at " + place(thread.getStackTrace()))
                .collect(Collectors.joining());
    }

    private static String place(StackTraceElement[] stack) {
        return CallSite.of(stack).orElse(stack.length == 0 ? "its end" : CallSite.describe(stack[0]));
    }

    private <R> R runRank(int thread, RankProgram<R> program) {
        Membership membership;
        try {
            membership = job.join(thread);
        } catch (Throwable cause) {
            failures.add("rank " + thread, cause);
            job.refused(thread, cause);
            return null;
        }
        try {
            OutputLines.bind(membership.topology().rank());
            job.begin(membership);
            R result = program.run(membership);
            job.leave(membership);
            return result;
        } catch (Throwable cause) {
            // Noted before the others hear of it, because they fail in consequence.
            failures.add("rank " + membership.topology().rank(), cause);
            job.failed(thread, membership, cause);
            return null;
        } finally {
            OutputLines.release();
            membership.stopWatching();
        }
    }

    private void join(List<Thread> threads) {
        boolean interrupted = false;
        while (threads.stream().anyMatch(Thread::isAlive) && !isGivenUp(threads)) {
            try {
                for (Thread thread : threads) {
                    thread.join(JOIN_MILLIS);
                }
            } catch (InterruptedException e) {
                if (!interrupted) {
                    interrupted = true;
                    String why = cancelled();
                    failures.addCancellation(why);
                    job.cancel(why);
                }
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /** After a hang or a cancellation the threads are interrupted; one that does not care is left behind. */
    private boolean isGivenUp(List<Thread> threads) {
        if (!failures.isOver()) {
            return false;
        }
        if (giveUpNanos == 0) {
            threads.forEach(Thread::interrupt);
            giveUpNanos = System.nanoTime() + GIVE_UP_NANOS;
        }
        return System.nanoTime() > giveUpNanos;
    }

    /**
     * Something that belongs to the rank of the calling thread. A rank's own thread is bound to it, and so are the
     * threads that this thread starts, and those that they start.
     *
     * <p>A thread of a pool is not: whichever rank gave the pool work when it needed a thread has started that thread,
     * and it does the work of all. Threads of the JDK's pools are recognised as such; a pool that makes its threads in
     * another way is not.
     */
    public static final class Bound<T> {
        private final InheritableThreadLocal<Claim<T>> claims = new InheritableThreadLocal<>() {
            @Override
            protected Claim<T> childValue(Claim<T> parent) {
                return parent == null ? null : parent.ofChild();
            }
        };

        /** Binds the calling thread, which is a rank's own. */
        public void bind(T value) {
            claims.set(new Claim<>(value, false));
        }

        /** Ends a binding of a thread that goes on. @param before what it was bound to; null if it was not */
        public void release(T before) {
            if (before == null) {
                claims.remove();
            } else {
                bind(before);
            }
        }

        /** The value to which the calling thread, or a thread before it, was bound; null if none was. */
        public T inherited() {
            Claim<T> claim = claims.get();
            return claim == null ? null : claim.value;
        }

        /** Whether it may be another rank's. */
        public boolean isUncertain() {
            Claim<T> claim = claims.get();
            return claim != null && claim.isUncertain();
        }
    }

    /** The value of one thread; it is used on this thread only. */
    private static final class Claim<T> {
        private final T value;
        /** Null until it is asked for: a thread works for a pool as long as it lives, or never. */
        private Boolean uncertain;

        Claim(T value, Boolean uncertain) {
            this.value = value;
            this.uncertain = uncertain;
        }

        /** A thread that a pool's thread starts knows no more than that one. */
        Claim<T> ofChild() {
            return new Claim<>(value, isUncertain() ? true : null);
        }

        boolean isUncertain() {
            if (uncertain == null) {
                uncertain = isOfAPool();
            }
            return uncertain;
        }

        private static boolean isOfAPool() {
            return Thread.currentThread() instanceof ForkJoinWorkerThread
                    || StackWalker.getInstance().walk(frames -> frames.anyMatch(Claim::isWorker));
        }

        private static boolean isWorker(StackWalker.StackFrame frame) {
            return frame.getClassName().equals(ThreadPoolExecutor.class.getName())
                    && frame.getMethodName().equals("runWorker");
        }
    }
}
