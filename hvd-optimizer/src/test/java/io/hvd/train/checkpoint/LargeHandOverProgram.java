package io.hvd.train.checkpoint;

import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.optimizer.AdamW;
import io.hvd.optimizer.ArrayParameters;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.optimizer.NamedState;
import io.hvd.optimizer.ShardedOptimizer;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/**
 * Generations of ranks as threads: one rank, then a second one that comes, then the second one alone. Both have one set of values, which
 * are the same anyway, and all gradients are one array, so that there is memory for the moments.
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

        Worker(float[] gradient) {
            for (int i = 0; i < VALUES.length; i++) {
                parameters.add("layer" + i, VALUES[i], gradient);
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

    /** @return what the ranks have together */
    private static Map<String, Integer> generation(String name, List<Worker> workers, boolean steps) {
        Map<String, Integer> all = new TreeMap<>();
        Hvd.spawn(workers.size(), hvd -> {
                    Worker mine = workers.get(hvd.rank());
                    say(hvd, name + ": sync", () -> mine.state.sync(hvd, 0));
                    Map<String, Integer> sums = mine.sums();
                    if (steps) {
                        mine.sharded.step();
                        mine.state.committed();
                        sums = mine.sums();
                        say(hvd, name + ": changing", () -> mine.state.changing(hvd));
                    }
                    return sums;
                })
                .forEach(all::putAll);
        return all;
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
        float[] gradient = new float[LENGTH];
        for (int i = 0; i < LENGTH; i++) {
            gradient[i] = Math.floorMod(31 * i, 17) - 8;
        }
        Worker first = new Worker(gradient);
        Worker second = new Worker(gradient);
        Map<String, Integer> alone = generation("one rank", List.of(first), true);
        if (first.sharded.fullStateBytes() <= Integer.MAX_VALUE) {
            throw new IllegalStateException(first.sharded.fullStateBytes() + " bytes are too few");
        }
        require("to two ranks", generation("two ranks", List.of(first, second), false), alone);
        Map<String, Integer> both = generation("two ranks again", List.of(first, second), true);
        if (Arrays.asList(both.values().toArray())
                .equals(Arrays.asList(alone.values().toArray()))) {
            throw new IllegalStateException("the step has changed nothing");
        }
        require("to the one that stays", generation("the second alone", List.of(second), false), both);
        require("to the same again", generation("the second again", List.of(second), false), both);
    }
}
