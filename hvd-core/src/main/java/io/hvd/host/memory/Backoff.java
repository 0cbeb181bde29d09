package io.hvd.host.memory;

import io.hvd.config.Processors;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.LongConsumer;

/**
 * How a thread waits for another rank that shares its memory. It spins for a moment where no other thread needs the core, then yields, and
 * after a while sleeps, longer and longer. Where other threads want the core, it sleeps instead of yielding: a thread that
 * has yielded gets the core back after a time slice of milliseconds, but a thread that wakes up gets it at once.
 *
 * <p>A rank that is faster than the others waits for them in every step, and if it oversleeps, they wait for it in turn. Where its
 * program waits too and nobody else wants the core, it therefore yields for far longer before it sleeps. One thread at a time
 * uses it.
 */
public final class Backoff {
    /** The time to spin, which is longer than a hand-over between two cores takes. */
    private static final long SPIN_NANOS = 50_000;
    /** Looks at the memory for each look at the clock, which costs as much as some looks at the memory. */
    private static final int LOOKS_PER_CLOCK = 32;

    /**
     * A yield that takes so long has let another thread work for a moment, perhaps the one that this one waits for. Programs
     * of which this job knows nothing share the cores then, such as ranks in other containers of this machine.
     */
    private static final long SHARED_CORE_NANOS = 5_000;
    /** What such a yield counts in {@link #sharedCore}, of which each wait takes one off again. */
    private static final int SHARED_CORE_POINTS = 16;
    /** The count above which a wait yields at once, because who spins keeps the core from the other thread. */
    private static final int SHARED_CORE = 24;

    private static final int MOST_SHARED_CORE = 64;

    private static final long YIELD_NANOS = 1_000_000;
    /** The time for which a thread yields where nobody else wants the core. */
    private static final long YIELD_ON_OWN_CORE_NANOS = 20_000_000;
    /** A yield that takes so long has given the core to a thread that computes. */
    private static final long LOST_CORE_NANOS = 500_000;
    /**
     * Where ranks share cores and this one's program waits too, a yield that takes so long has given the core to
     * something else than a rank. A shorter one may have given it to a rank that works, which is what this wait is for,
     * and which gives it back when it waits in turn.
     */
    private static final long LOST_TO_OTHERS_NANOS = 4_000_000;
    /**
     * Yields in a row, each longer than {@link #longYieldNanos}, that have done so too: the scheduler gives a program
     * that never waits the core until its next tick, which is at most 4 ms away, each time anew.
     */
    private static final int LOST_IN_A_ROW = 3;
    /** How long the core is taken to be wanted by other threads after that. */
    private static final long CROWDED_NANOS = 20_000_000;

    private static final long SHORTEST_SLEEP_NANOS = 20_000;
    private static final long LONGEST_SLEEP_NANOS = 1_000_000;
    /**
     * After this time the caller looks whether the other rank lives: it is far longer than a wait for a live rank, and a
     * fifth of the time in which a death must be noticed.
     */
    private static final long DOUBT_NANOS = 20_000_000;
    /** Who sleeps until it is woken is woken by the other rank's end, too. */
    private static final long LONGEST_UNTIL_WOKEN_NANOS = 1_000_000_000;

    /**
     * The communication thread: while it waits the program's own threads compute, and while one of them waits they do
     * not.
     */
    private final Thread communication = Thread.currentThread();

    private final int ranks;
    private final int cores;
    private final Runnable progress;
    private final Core core;
    /** {@link #LOST_CORE_NANOS}, and more where a yield lets more than one other rank work. */
    private final long longYieldNanos;

    private BooleanSupplier programWaits = () -> true;
    private int looks;
    private long begun;
    private boolean spins;
    /** How much the last waits say that other threads want this core for moments. One of the system does so now and then. */
    private int sharedCore;

    private long yieldNanos;
    private long sleep;
    private long doubted;
    /** Whether a single yield that takes long may have been another rank's work in this wait. */
    private boolean sharesCores;
    /** The yields that took long since the last one that did not, in this wait and those before. */
    private int longYields;

    private long lastLostCore;

    /** The core that a thread runs on. */
    interface Core {
        Core REAL = new Core() {
            @Override
            public long nanoTime() {
                return System.nanoTime();
            }

            @Override
            public void spin() {
                Thread.onSpinWait();
            }

            @Override
            public void giveWay() {
                Thread.yield();
            }

            @Override
            public void sleep(long nanos) {
                park(nanos);
            }
        };

        long nanoTime();

        void spin();

        /** Yields the core to any thread that wants it. */
        void giveWay();

        void sleep(long nanos);
    }

    /**
     * Called on the communication thread.
     *
     * @param ranks number of ranks of this host
     * @param progress moves on what this rank has sent over the network, which another rank may be waiting for while
     *     this one waits for it; called between two yields or sleeps of a long wait
     */
    public Backoff(int ranks, Runnable progress) {
        this(ranks, Processors.ofThisProcess(ranks).ofAll(ranks), progress, Core.REAL);
    }

    /**
     * Called on the communication thread of a rank that is a thread.
     *
     * @param threads ranks of this JVM
     * @param processes such JVMs of this job on this host
     */
    public static Backoff ofThreads(int threads, int processes) {
        int cores = Processors.ofThisProcess(processes).ofAll(processes);
        return new Backoff(threads * processes, cores, () -> {}, Core.REAL);
    }

    /** Sleeps. On a thread that has been interrupted, for whatever purpose, it yields the core. */
    static void park(long nanos) {
        LockSupport.parkNanos(nanos);
        if (Thread.currentThread().isInterrupted()) {
            Thread.yield();
        }
    }

    /** @param cores number of cores of all ranks of this host together */
    Backoff(int ranks, int cores, Runnable progress, Core core) {
        this.ranks = ranks;
        this.cores = cores;
        this.progress = progress;
        this.core = core;
        this.longYieldNanos = LOST_CORE_NANOS * Math.max(1, ranks / (2 * cores));
        this.lastLostCore = core.nanoTime() - CROWDED_NANOS;
    }

    /**
     * @param waits tells whether the program's own thread waits and so computes nothing; without an engine it is never
     *     true
     */
    public void programWaits(BooleanSupplier waits) {
        programWaits = waits;
    }

    /** Begins a new wait. */
    void begin() {
        looks = 0;
        begun = 0;
        boolean alone = Thread.currentThread() != communication || programWaits.getAsBoolean();
        boolean ownCore = ranks * (alone ? 1 : 2) <= cores;
        spins = ownCore && sharedCore <= SHARED_CORE;
        sharedCore = Math.max(0, sharedCore - 1);
        sharesCores = alone && ranks > cores;
        yieldNanos = ownCore && alone ? YIELD_ON_OWN_CORE_NANOS : YIELD_NANOS;
        sleep = SHORTEST_SLEEP_NANOS;
    }

    /** @return true each time the wait has become so long again that the other rank may be dead */
    boolean pause() {
        if (spins && ++looks % LOOKS_PER_CLOCK != 0) {
            core.spin();
            return false;
        }
        long now = now();
        rest(now);
        return doubts(now);
    }

    /**
     * Sleeps until this thread is woken.
     *
     * @param sleep is given the nanoseconds after which it has to end
     * @return as {@link #pause}
     */
    boolean sleep(LongConsumer sleep) {
        sleep.accept(LONGEST_UNTIL_WOKEN_NANOS);
        return true;
    }

    /** Counts a wait of a thread that has had other work to do instead. */
    boolean worked() {
        return doubts(now());
    }

    private long now() {
        long now = core.nanoTime();
        if (begun == 0) {
            begun = now;
            doubted = now;
        }
        return now;
    }

    private void rest(long now) {
        long waited = now - begun;
        boolean crowded = now - lastLostCore < CROWDED_NANOS;
        if (spins && waited < SPIN_NANOS) {
            core.spin();
        } else if (!crowded && waited < yieldNanos) {
            spins = false;
            if (waited >= YIELD_NANOS) {
                progress.run();
                giveWay(core.nanoTime());
            } else {
                giveWay(now);
            }
        } else {
            spins = false;
            doze(waited);
        }
    }

    private void giveWay(long now) {
        core.giveWay();
        long back = core.nanoTime();
        long yielded = back - now;
        if (isLost(yielded)) {
            lastLostCore = back;
            sharedCore = 0;
        } else if (yielded >= SHARED_CORE_NANOS) {
            sharedCore = Math.min(MOST_SHARED_CORE, sharedCore + SHARED_CORE_POINTS);
        }
    }

    private boolean isLost(long yielded) {
        if (!sharesCores) {
            longYields = 0;
            return yielded > LOST_CORE_NANOS;
        }
        longYields = yielded > longYieldNanos ? longYields + 1 : 0;
        boolean lost = longYields >= LOST_IN_A_ROW || yielded > LOST_TO_OTHERS_NANOS;
        if (lost) {
            longYields = 0;
        }
        return lost;
    }

    private void doze(long waited) {
        progress.run();
        core.sleep(sleep);
        if (waited > YIELD_NANOS) {
            sleep = Math.min(LONGEST_SLEEP_NANOS, sleep * 2);
        }
    }

    private boolean doubts(long now) {
        boolean again = now - doubted >= DOUBT_NANOS;
        if (again) {
            doubted = now;
        }
        return again;
    }
}
