package io.hvd.benchmarks.rank;

import io.hvd.benchmarks.Samples;
import java.util.Arrays;
import java.util.List;
import java.util.function.IntToDoubleFunction;

/**
 * Times several implementations of one collective in turn, round by round, for one size after the other. All sizes are
 * warmed up before the first one is timed. The JIT gets time to finish its compilations, because its threads use the
 * same cores.
 */
final class AlternatingRounds {
    /**
     * The most phases of the warm-up. A later phase may invalidate code that the JIT has compiled in an earlier one.
     */
    private static final int MOST_PHASES = 5;

    /** What a phase of the warm-up takes for each call, where ranks share memory. */
    static final long WARM_NANOS = 50_000_000L;
    /** The same for calls between hosts. They are slower, and with half of it the JIT compiled code between timed rounds. */
    static final long WARM_NANOS_BETWEEN_HOSTS = 100_000_000L;

    /** The calls whose time says how many more the warm-up makes. */
    private static final int TRIAL_CALLS = 8;

    /** The expected duration of a call with few bytes where the ranks do not agree on what it took. */
    private static final long LIKELY_NANOS = 20_000;

    /**
     * The number of warm-up calls for each round: with ten rounds the JIT compiles everything, with two it does not.
     */
    private static final int WARM_CALLS_PER_ROUND = 1000;

    /** The length of a pause in which only the JIT works. */
    private static final long PAUSE_MILLIS = 500;

    /**
     * The number of calls that remove the data of other sizes from the caches, and after which hvd's ranks do not
     * negotiate.
     */
    private static final int SETTLING_CALLS = 20;

    private static final long SETTLING_BYTES = 64 << 20;

    /**
     * The most calls of one contender before the other one follows. After each change of the name, hvd's ranks
     * negotiate for ten steps, and after 32 more steps rank 0 may change the batches.
     */
    private static final int MOST_CALLS_OF_ITS_OWN = 50;

    private static final int LEAST_CALLS_OF_ITS_OWN = 16;
    private static final long BYTES_OF_ITS_OWN = 256 << 20;

    private static final long BYTES_PER_TRIAL = 8 << 20;
    private static final int MOST_CALLS = 200;

    private final Floats floats;
    private final Samples samples;
    private final PlaceInJob job;
    private final int rounds;
    private final long warmNanos;

    AlternatingRounds(Floats floats, Samples samples, PlaceInJob job, int rounds, long warmNanos) {
        this.floats = floats;
        this.samples = samples;
        this.job = job;
        this.rounds = rounds;
        this.warmNanos = warmNanos;
    }

    /**
     * Before each timing, calls of the contender itself bring the ranks together; a call may take tens of microseconds.
     */
    void run(List<Contender> contenders, long[] sizes) {
        run(contenders, sizes, null);
    }

    /** @param mpi brings the ranks together before each timing; null if calls of the contender do that */
    void run(List<Contender> contenders, long[] sizes, MpiCalls mpi) {
        List<List<Runnable>> calls = Arrays.stream(sizes)
                .mapToObj(bytes -> checked(contenders, bytes))
                .toList();
        for (int phase = 0; phase < Math.min(MOST_PHASES, rounds); phase++) {
            for (int i = 0; i < sizes.length; i++) {
                for (Runnable call : calls.get(i)) {
                    warmUp(call, mpi == null ? LIKELY_NANOS + sizes[i] / 2 : nanosOfOne(call, mpi));
                }
            }
            PlaceInJob.pause(PAUSE_MILLIS);
        }
        for (int i = 0; i < sizes.length; i++) {
            run(contenders, calls.get(i), sizes[i], mpi);
        }
    }

    private List<Runnable> checked(List<Contender> contenders, long bytes) {
        int count = Math.toIntExact(bytes / Float.BYTES);
        List<Runnable> calls =
                contenders.stream().map(contender -> check(contender, count)).toList();
        floats.clear(job.whole(count)); // sums of zeros stay zero, however often they are computed
        return calls;
    }

    private void run(List<Contender> contenders, List<Runnable> calls, long bytes, MpiCalls mpi) {
        for (int call = 0; call < Math.max(2, Math.min(SETTLING_CALLS, SETTLING_BYTES / bytes)); call++) {
            calls.forEach(Runnable::run);
        }
        for (int round = 0; round < rounds; round++) {
            for (int i = 0; i < calls.size(); i++) {
                if (mpi == null) {
                    repeat(calls.get(i), calls.size() == 1 ? 1 : callsOfItsOwn(bytes));
                } else {
                    mpi.barrier();
                }
                time(contenders.get(i).series(), calls.get(i), bytes);
            }
        }
    }

    private static long callsOfItsOwn(long bytes) {
        return Math.max(LEAST_CALLS_OF_ITS_OWN, Math.min(MOST_CALLS_OF_ITS_OWN, BYTES_OF_ITS_OWN / bytes));
    }

    /** Checks that a contender computes the right result. */
    private Runnable check(Contender contender, int count) {
        Runnable call = contender.call().apply(count);
        floats.bring(job.whole(count), job.rank());
        call.run();
        Expected expected = contender.expected();
        int elements = expected.elements(count, job);
        IntToDoubleFunction right = element -> expected.at(element, count, job);
        if (contender.heap()) {
            floats.requireHeap(elements, right, contender.series());
        } else {
            floats.requireDirect(elements, right, contender.series());
        }
        return call;
    }

    /** Makes the same number of calls on every rank, so the ranks have agreed on the time of one. */
    private void warmUp(Runnable call, double nanosOfOne) {
        repeat(call, (long) Math.max(1, Math.min(rounds * WARM_CALLS_PER_ROUND, warmNanos / nanosOfOne)));
    }

    /**
     * The mean of the ranks' times: Gloo takes milliseconds where the ranks outnumber the processors. A call that takes as
     * long as the whole warm-up is made once.
     */
    private double nanosOfOne(Runnable call, MpiCalls mpi) {
        double first = meanNanos(call, 1, mpi);
        return first > warmNanos ? first : meanNanos(call, TRIAL_CALLS, mpi);
    }

    private static double meanNanos(Runnable call, int calls, MpiCalls mpi) {
        long begun = System.nanoTime();
        repeat(call, calls);
        return mpi.mean((System.nanoTime() - begun) / (float) calls);
    }

    private static void repeat(Runnable call, long times) {
        for (long i = 0; i < times; i++) {
            call.run();
        }
    }

    private void time(String series, Runnable call, long bytes) {
        int calls = (int) Math.max(1, Math.min(MOST_CALLS, BYTES_PER_TRIAL / bytes));
        long begun = System.nanoTime();
        repeat(call, calls);
        samples.add(series, bytes, (System.nanoTime() - begun) / 1e3 / calls);
    }
}
