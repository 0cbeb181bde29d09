package io.hvd.benchmarks.rank;

import io.hvd.benchmarks.Samples;
import java.util.Arrays;
import java.util.List;
import java.util.function.IntToDoubleFunction;

/**
 * Times several ways of the same collective in turn, round by round, for one size after the other. All sizes are warmed up
 * before the first one is timed, and the JIT gets time to end what it has begun, for its threads want the same cores.
 */
final class Duel {
    /** The most phases of warming up. A later phase may invalidate what the JIT has compiled in an earlier one. */
    private static final int MOST_PHASES = 5;

    private static final long WARM_NANOS = 50_000_000L;
    /** Ten rounds are worth what the JIT wants for everything; two are for a look. */
    private static final int WARM_CALLS_PER_ROUND = 1000;

    /** Nobody computes meanwhile but the JIT. */
    private static final long PAUSE_MILLIS = 500;

    /** What other sizes have left in the caches goes, and hvd's ranks stop negotiating. */
    private static final int SETTLING_CALLS = 20;

    private static final long SETTLING_BYTES = 64 << 20;

    /**
     * How often one side is called before the other one follows. Each change of the name has hvd's ranks negotiate for
     * ten steps, and they look after 32 more
     * whether what they have found then is the best.
     */
    private static final int MOST_CALLS_OF_ITS_OWN = 50;

    private static final int LEAST_CALLS_OF_ITS_OWN = 16;
    private static final long BYTES_OF_ITS_OWN = 256 << 20;

    private static final long BYTES_PER_TRIAL = 8 << 20;
    private static final int MOST_CALLS = 200;

    private final Floats floats;
    private final Samples samples;
    private final Job job;
    private final int rounds;

    Duel(Floats floats, Samples samples, Job job, int rounds) {
        this.floats = floats;
        this.samples = samples;
        this.job = job;
        this.rounds = rounds;
    }

    /** The ranks come together before each trial by calls of the side itself, which may take tens of microseconds. */
    void fight(List<Side> sides, long[] sizes) {
        fight(sides, sizes, 20_000, null);
    }

    /**
     * @param likelyNanos of a call with few bytes
     * @param meeting brings the ranks together before each trial; null if calls of the side do
     */
    void fight(List<Side> sides, long[] sizes, long likelyNanos, Runnable meeting) {
        List<List<Runnable>> calls =
                Arrays.stream(sizes).mapToObj(bytes -> proven(sides, bytes)).toList();
        for (int phase = 0; phase < Math.min(MOST_PHASES, rounds); phase++) {
            for (int i = 0; i < sizes.length; i++) {
                warmUp(calls.get(i), likelyNanos + sizes[i] / 2);
            }
            Job.pause(PAUSE_MILLIS);
        }
        for (int i = 0; i < sizes.length; i++) {
            fight(sides, calls.get(i), sizes[i], meeting);
        }
    }

    private List<Runnable> proven(List<Side> sides, long bytes) {
        int count = Math.toIntExact(bytes / Float.BYTES);
        List<Runnable> calls = sides.stream().map(side -> prove(side, count)).toList();
        floats.clear(job.whole(count)); // sums of nothing but zeros stay what they are
        return calls;
    }

    private void fight(List<Side> sides, List<Runnable> calls, long bytes, Runnable meeting) {
        for (int call = 0; call < Math.max(2, Math.min(SETTLING_CALLS, SETTLING_BYTES / bytes)); call++) {
            calls.forEach(Runnable::run);
        }
        for (int round = 0; round < rounds; round++) {
            for (int i = 0; i < calls.size(); i++) {
                if (meeting == null) {
                    repeat(calls.get(i), calls.size() == 1 ? 1 : callsOfItsOwn(bytes));
                } else {
                    meeting.run();
                }
                time(sides.get(i).series(), calls.get(i), bytes);
            }
        }
    }

    private static long callsOfItsOwn(long bytes) {
        return Math.max(LEAST_CALLS_OF_ITS_OWN, Math.min(MOST_CALLS_OF_ITS_OWN, BYTES_OF_ITS_OWN / bytes));
    }

    /** Nobody is fast by computing something else. */
    private Runnable prove(Side side, int count) {
        Runnable call = side.call().apply(count);
        floats.bring(job.whole(count), job.rank());
        call.run();
        Expected expected = side.expected();
        int elements = expected.elements(count, job);
        IntToDoubleFunction right = element -> expected.at(element, count, job);
        if (side.heap()) {
            floats.requireHeap(elements, right, side.series());
        } else {
            floats.requireDirect(elements, right, side.series());
        }
        return call;
    }

    /** As many calls on every rank, so by size and not by time. */
    private void warmUp(List<Runnable> calls, long nanosOfOne) {
        long count = Math.max(1, Math.min(rounds * WARM_CALLS_PER_ROUND, WARM_NANOS / nanosOfOne));
        for (Runnable call : calls) {
            repeat(call, count);
        }
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
