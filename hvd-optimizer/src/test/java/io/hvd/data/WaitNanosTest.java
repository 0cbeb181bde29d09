package io.hvd.data;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.function.Function;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The time that counts as a loop's wait for its data. Each bound follows from what the test itself has measured. */
@Timeout(60)
class WaitNanosTest {
    private static final int SAMPLES = 20;
    private static final long PIECE_NANOS = 200_000;

    @Test
    void withoutWorkersTheWholeTimeOfReadingIsWaitedForAndTheLoopsOwnTimeIsNot() {
        long[] reading = {0};
        long computing = 0;
        long begun = System.nanoTime();
        try (var loader = loader(index -> reading[0] += spin(), 0)) {
            assertThat(loader.waitNanos()).isZero();
            for (List<Integer> batch : loader) {
                assertThat(batch).hasSize(2);
                computing += spin();
            }
            long elapsed = System.nanoTime() - begun;
            assertThat(loader.waitNanos()).isBetween(reading[0], elapsed - computing);
        }
    }

    @Test
    void aLoopThatIsAheadOfItsWorkersHasWaitedAndALaterEpochAddsToIt() {
        Thread loop = Thread.currentThread();
        long[] blocked = {0};
        var first = new CountDownLatch(1);
        try (var loader = loader(
                index -> {
                    if (first.getCount() > 0) {
                        blocked[0] = waitedWhile(loop);
                        first.countDown();
                    }
                },
                1)) {
            loader.forEach(batch -> {});
            long firstEpoch = loader.waitNanos();
            assertThat(firstEpoch).isGreaterThanOrEqualTo(blocked[0]);
            loader.iterator().next();
            assertThat(loader.waitNanos()).isGreaterThan(firstEpoch);
        }
    }

    @Test
    void aWaitThatEndsByAFailureCounts() {
        long[] reading = {0};
        try (var loader = loader(
                index -> {
                    reading[0] += spin();
                    throw new IllegalStateException("no sample " + index);
                },
                0)) {
            Epoch<List<Integer>> epoch = loader.iterator();
            try {
                epoch.next();
            } catch (DataLoaderException expected) {
                assertThat(expected).hasMessageContaining("no sample 0");
            }
            assertThat(reading[0]).isPositive();
            assertThat(loader.waitNanos()).isGreaterThanOrEqualTo(reading[0]);
        }
    }

    /** How long the loop has stood still at least, as seen by the worker that it waits for. */
    private static long waitedWhile(Thread loop) {
        while (loop.getState() != Thread.State.WAITING) {
            Thread.onSpinWait();
        }
        return spin();
    }

    private static long spin() {
        long begun = System.nanoTime();
        while (System.nanoTime() - begun < PIECE_NANOS) {
            Thread.onSpinWait();
        }
        return System.nanoTime() - begun;
    }

    private interface Reading {
        void of(int index);
    }

    private static DataLoader<Integer, List<Integer>> loader(Reading reading, int workers) {
        Dataset<Integer> numbers =
                Dataset.of(IntStream.range(0, SAMPLES).boxed().toList());
        Dataset<Integer> watched = new Dataset<>() {
            @Override
            public int size() {
                return numbers.size();
            }

            @Override
            public Integer get(int index) throws Exception {
                reading.of(index);
                return numbers.get(index);
            }
        };
        return DataLoader.builder(watched, new EvalSampler(SAMPLES, 1, 0), Function.<List<Integer>>identity())
                .batchSize(2)
                .workers(workers)
                .build();
    }
}
