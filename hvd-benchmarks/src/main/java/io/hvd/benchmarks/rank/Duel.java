package io.hvd.benchmarks.rank;

import io.hvd.benchmarks.Samples;
import java.util.List;

/** Times several ways of the same allreduce in turn, round by round, for one size after the other. */
final class Duel {
    private static final long WARM_NANOS = 100_000_000L;
    /** Ten rounds are worth what the JIT wants for everything; two are for a look. */
    private static final int WARM_CALLS_PER_ROUND = 300;

    private static final int MOST_WARM_CALLS = 3000;
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

    /** @param meeting brings the ranks together before each trial */
    void fight(List<Side> sides, long bytes, Runnable meeting) {
        int count = Math.toIntExact(bytes / Float.BYTES);
        List<Runnable> calls = sides.stream().map(side -> prove(side, count)).toList();
        floats.fill(count, 0); // sums of nothing but zeros stay what they are
        calls.forEach(call -> warmUp(call, bytes));
        for (int round = 0; round < rounds; round++) {
            for (int i = 0; i < calls.size(); i++) {
                meeting.run();
                time(sides.get(i).series(), calls.get(i), bytes);
            }
        }
    }

    /** Nobody is fast by computing something else. */
    private Runnable prove(Side side, int count) {
        Runnable call = side.call().apply(count);
        floats.fill(count, job.rank() + 1);
        call.run();
        if (!side.computes()) {
            return call;
        }
        float sum = job.size() * (job.size() + 1) / 2f;
        float expected = side.averages() ? sum / job.size() : sum;
        if (side.heap()) {
            floats.requireHeap(count, expected, side.series());
        } else {
            floats.requireDirect(count, expected, side.series());
        }
        return call;
    }

    /** As many calls on every rank, so by size and not by time. */
    private void warmUp(Runnable call, long bytes) {
        long nanosOfOne = 20_000 + bytes / 2;
        int most = Math.min(MOST_WARM_CALLS, rounds * WARM_CALLS_PER_ROUND);
        long calls = Math.max(2, Math.min(most, WARM_NANOS / nanosOfOne));
        for (int i = 0; i < calls; i++) {
            call.run();
        }
    }

    private void time(String series, Runnable call, long bytes) {
        int calls = (int) Math.max(1, Math.min(MOST_CALLS, BYTES_PER_TRIAL / bytes));
        long begun = System.nanoTime();
        for (int i = 0; i < calls; i++) {
            call.run();
        }
        samples.add(series, bytes, (System.nanoTime() - begun) / 1e3 / calls);
    }
}
