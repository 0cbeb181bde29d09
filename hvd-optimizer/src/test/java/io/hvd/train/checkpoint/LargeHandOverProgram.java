package io.hvd.train.checkpoint;

import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.optimizer.AdamW;
import io.hvd.optimizer.ArrayParameters;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.optimizer.NamedState;
import io.hvd.optimizer.ShardedOptimizer;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentSkipListMap;

/**
 * Generations of ranks as threads: one rank, then a second one that comes, then the second one alone. Both have one set of values, which
 * are the same anyway, and one set of gradients, so that there is memory for the moments.
 */
final class LargeHandOverProgram {
    private static final int LENGTH = 140_000_000;
    private static final float[][] VALUES = {new float[LENGTH], new float[LENGTH]};

    private LargeHandOverProgram() {}

    /** A worker, with what it keeps from one generation to the next. */
    private static final class Worker {
        private final ArrayParameters parameters = new ArrayParameters();
        private final TrainingState<DistributedOptimizer> state;
        private ShardedOptimizer sharded;

        Worker(float[][] gradients) {
            for (int i = 0; i < VALUES.length; i++) {
                parameters.add("layer" + i, VALUES[i], gradients[i]);
            }
            state = TrainingState.of(this::make).build();
        }

        private DistributedOptimizer make(HvdContext hvd) {
            sharded = ShardedOptimizer.ofArrays(hvd, parameters, share -> new AdamW(share, 0.1));
            return DistributedOptimizer.wrap(sharded).build();
        }

        /** The sums of the moments of its share. */
        Map<String, Integer> sums() {
            NamedState share = sharded.namedState();
            Map<String, Integer> sums = new TreeMap<>();
            share.tensors().forEach((name, tensor) -> sums.put(name, LargeStateTest.hash(tensor)));
            return sums;
        }
    }

    /** What the ranks have together, when a generation begins and when it has made a step. */
    private record Sums(Map<String, Integer> begin, Map<String, Integer> end) {
        Sums() {
            this(new ConcurrentSkipListMap<>(), new ConcurrentSkipListMap<>());
        }
    }

    private static Sums generation(String name, List<Worker> workers) {
        Sums sums = new Sums();
        Hvd.spawn(workers.size(), hvd -> {
            Worker mine = workers.get(hvd.rank());
            say(hvd, name + ": sync", () -> mine.state.sync(hvd, 0));
            sums.begin.putAll(mine.sums());
            mine.sharded.step();
            mine.state.committed();
            sums.end.putAll(mine.sums());
            say(hvd, name + ": changing", () -> mine.state.changing(hvd));
            return null;
        });
        return sums;
    }

    private static void say(HvdContext hvd, String what, Runnable action) {
        hvd.barrier();
        long begun = System.nanoTime();
        action.run();
        hvd.barrier();
        if (hvd.rank() == 0) {
            System.out.printf(Locale.ROOT, "%s took %.1f s%n", what, (System.nanoTime() - begun) / 1e9);
        }
    }

    private static void require(String what, Map<String, Integer> found, Map<String, Integer> expected) {
        if (!found.equals(expected) || found.size() != 2 * VALUES.length) {
            throw new IllegalStateException(what + ": found " + found + ", expected " + expected);
        }
        System.out.println("HANDED OVER " + what);
    }

    public static void main(String[] args) {
        float[][] gradients = new float[VALUES.length][LENGTH];
        for (int i = 0; i < LENGTH; i++) {
            gradients[0][i] = Math.floorMod(31 * i, 17) - 8;
            gradients[1][i] = Math.floorMod(7 * i, 13) - 6;
        }
        Worker first = new Worker(gradients);
        Worker second = new Worker(gradients);
        Sums alone = generation("one rank", List.of(first));
        if (first.sharded.fullStateBytes() <= Integer.MAX_VALUE) {
            throw new IllegalStateException(first.sharded.fullStateBytes() + " bytes are too few");
        }
        Sums two = generation("two ranks", List.of(first, second));
        require("to two ranks", two.begin, alone.end);
        require("to the one that stays", generation("the second alone", List.of(second)).begin, two.end);
    }
}
