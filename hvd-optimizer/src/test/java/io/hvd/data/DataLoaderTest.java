package io.hvd.data;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.function.Function;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The batches that a loader hands over; {@link DataLoaderThreadsTest} tests its threads. */
@Timeout(60)
class DataLoaderTest {

    @AfterEach
    void noWorkerIsLeft() {
        assertThat(WorkerThreads.alive()).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 4})
    void batchesComeInTheOrderOfTheSampler(int workers) {
        var sampler = new DistributedSampler(103, 2, 1);
        try (var loader = numbers(103, sampler).batchSize(5).workers(workers).build()) {
            for (int epoch = 0; epoch < 50; epoch++) {
                List<List<Integer>> batches = drain(loader);

                sampler.setEpoch(epoch);
                assertThat(flat(batches)).containsExactly(sampler.indices());
                assertThat(batches).hasSize(loader.batches()).allMatch(batch -> !batch.isEmpty());
                sampler.beginEpoch();
            }
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 4})
    void theLastBatchIsSmallerOrLeftOut(int workers) {
        try (var kept = numbers(21).batchSize(5).workers(workers).build();
                var dropped =
                        numbers(21).batchSize(5).workers(workers).dropLast(true).build()) {
            assertThat(kept.batches()).isEqualTo(5);
            assertThat(drain(kept)).hasSize(5).last().isEqualTo(List.of(20));
            assertThat(dropped.batches()).isEqualTo(4);
            assertThat(drain(dropped)).hasSize(4).last().isEqualTo(List.of(15, 16, 17, 18, 19));
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 4})
    void anEpochMayBeEmptyOrSmallerThanABatch(int workers) {
        try (var empty = numbers(0).batchSize(5).workers(workers).build();
                var small = numbers(3).batchSize(5).workers(workers).build();
                var dropped =
                        numbers(3).batchSize(5).dropLast(true).workers(workers).build()) {
            assertThat(drain(empty)).isEmpty();
            assertThat(drain(small)).containsExactly(List.of(0, 1, 2));
            assertThat(drain(dropped)).isEmpty();
            assertThat(dropped.batches()).isZero();
        }
    }

    /** The well-known demonstration with 21 samples, batches of 5 and three epochs. */
    @ParameterizedTest
    @ValueSource(ints = {0, 2})
    void everyEpochIsShuffledAnewAndTheSameOnARerun(int workers) {
        List<List<List<Integer>>> run = threeEpochs(workers);

        assertThat(run).hasSize(3).allMatch(epoch -> epoch.size() == 4).doesNotHaveDuplicates();
        assertThat(threeEpochs(workers)).isEqualTo(run);
    }

    @Test
    void anEpochThatIsSetEachTimeIsRepeated() {
        var sampler = new DistributedSampler(21, 1, 0);
        try (var loader = numbers(21, sampler).batchSize(5).dropLast(true).build()) {
            sampler.setEpoch(0);
            List<List<Integer>> first = drain(loader);
            for (int i = 0; i < 2; i++) {
                sampler.setEpoch(0);
                assertThat(drain(loader)).isEqualTo(first);
            }
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 4})
    void aSampleThatCannotBeReadIsNamedAfterAllBatchesBeforeIt(int workers) {
        var torn = new IllegalStateException("torn file");
        Dataset<Integer> dataset = new Numbers(40) {
            @Override
            public Integer get(int index) {
                if (index == 17) {
                    throw torn;
                }
                return index;
            }
        };
        var taken = new ArrayList<List<Integer>>();
        try (var loader = lists(dataset).batchSize(5).workers(workers).build()) {
            Epoch<List<Integer>> epoch = loader.iterator();
            assertThatThrownBy(() -> epoch.forEachRemaining(taken::add))
                    .isInstanceOfSatisfying(DataLoaderException.class, e -> {
                        assertThat(e.sampleIndex()).hasValue(17);
                        assertThat(e.batch()).isEqualTo(3);
                    })
                    .hasMessageContainingAll("sample 17", "batch 3", "place 2", "torn file")
                    .hasCause(torn)
                    .satisfies(e -> assertThat(e.getStackTrace())
                            .as("the stack of the caller")
                            .anyMatch(frame -> frame.getClassName().equals(DataLoaderTest.class.getName())));

            assertThat(taken).hasSize(3);
            assertThat(epoch.hasNext()).isFalse();
            assertThatThrownBy(epoch::next).isInstanceOf(NoSuchElementException.class);
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 4})
    void theEpochAfterAFailureIsWhole(int workers) {
        var failOnce = new Numbers(40) {
            private volatile boolean failed;

            @Override
            public Integer get(int index) throws Exception {
                if (index == 17 && !failed) {
                    failed = true;
                    throw new Exception("once");
                }
                return index;
            }
        };
        try (var loader = lists(failOnce).batchSize(5).workers(workers).build()) {
            assertThatThrownBy(() -> drain(loader)).isInstanceOf(DataLoaderException.class);
            assertThat(flat(drain(loader))).containsExactly(Permutation.identity(40));
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 2})
    void aFailureToCollateNamesTheBatch(int workers) {
        Function<List<Integer>, Integer> failing = samples -> {
            if (samples.contains(12)) {
                throw new AssertionError("shapes differ");
            }
            return samples.size();
        };
        try (var loader = DataLoader.builder(new Numbers(20), new EvalSampler(20, 1, 0), failing)
                .batchSize(5)
                .workers(workers)
                .build()) {
            assertThatThrownBy(() -> loader.iterator().forEachRemaining(batch -> {}))
                    .isInstanceOfSatisfying(DataLoaderException.class, e -> {
                        assertThat(e.sampleIndex()).isEmpty();
                        assertThat(e.batch()).isEqualTo(2);
                    })
                    .hasMessageContainingAll("collating the 5 samples of batch 2", "shapes differ")
                    .hasCauseInstanceOf(AssertionError.class);
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 2})
    void aNullBatchIsAFailureOfCollate(int workers) {
        Function<List<Integer>, String> nothing = samples -> null;
        try (var loader = DataLoader.builder(new Numbers(2), new EvalSampler(2, 1, 0), nothing)
                .workers(workers)
                .build()) {
            assertThatThrownBy(() -> loader.iterator().next()).hasMessageContainingAll("batch 0", "returned null");
        }
    }

    @Test
    void aSamplerForAnotherDataSetIsRefused() {
        assertThatThrownBy(() -> numbers(10, new EvalSampler(11, 1, 0)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContainingAll("11", "10");
    }

    @Test
    void senselessSettingsAreRefused() {
        assertThatThrownBy(() -> numbers(1).batchSize(0)).hasMessageContainingAll("batchSize", "at least 1", "0");
        assertThatThrownBy(() -> numbers(1).workers(-1)).hasMessageContainingAll("workers", "at least 0", "-1");
        assertThatThrownBy(() -> numbers(1).prefetch(0)).hasMessageContainingAll("prefetch", "at least 1", "0");
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 2})
    void aNewEpochEndsTheOneBeforeAndSaysSo(int workers) {
        try (var loader = numbers(20).batchSize(5).workers(workers).build()) {
            Epoch<List<Integer>> outer = loader.iterator();
            outer.next();
            Epoch<List<Integer>> inner = loader.iterator();

            assertThat(outer.hasNext()).isTrue();
            assertThatThrownBy(outer::next)
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContainingAll("1 of 4 batches", "began another");
            assertThat(inner.next()).containsExactly(0, 1, 2, 3, 4);
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 2})
    void aClosedLoaderHasNoMoreEpochs(int workers) {
        var loader = numbers(20).batchSize(5).workers(workers).build();
        Epoch<List<Integer>> epoch = loader.iterator();
        epoch.next();
        loader.close();
        loader.close();

        assertThatThrownBy(epoch::next)
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("closed");
        assertThatThrownBy(loader::iterator)
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("closed");
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 2})
    void anEpochThatItsOwnerClosesIsJustOver(int workers) {
        try (var loader = numbers(20).batchSize(5).workers(workers).build()) {
            Epoch<List<Integer>> epoch = loader.iterator();
            epoch.next();
            epoch.close();
            epoch.close();

            assertThat(epoch.hasNext()).isFalse();
            assertThat(drain(loader)).hasSize(4);
        }
    }

    private static List<List<List<Integer>>> threeEpochs(int workers) {
        var sampler = new DistributedSampler(21, 1, 0);
        try (var loader = numbers(21, sampler)
                .batchSize(5)
                .dropLast(true)
                .workers(workers)
                .build()) {
            return IntStream.range(0, 3).mapToObj(epoch -> drain(loader)).toList();
        }
    }

    private static DataLoader.Builder<Integer, List<Integer>> numbers(int size) {
        return lists(new Numbers(size));
    }

    private static DataLoader.Builder<Integer, List<Integer>> numbers(int size, Sampler sampler) {
        return DataLoader.builder(new Numbers(size), sampler, Function.identity());
    }

    private static DataLoader.Builder<Integer, List<Integer>> lists(Dataset<Integer> dataset) {
        return DataLoader.builder(dataset, new EvalSampler(dataset.size(), 1, 0), Function.identity());
    }

    private static List<List<Integer>> drain(DataLoader<Integer, List<Integer>> loader) {
        var batches = new ArrayList<List<Integer>>();
        loader.forEach(batches::add);
        return batches;
    }

    private static int[] flat(List<List<Integer>> batches) {
        return batches.stream()
                .flatMap(List::stream)
                .mapToInt(Integer::intValue)
                .toArray();
    }

    /** Every sample is its own index. */
    private static class Numbers implements Dataset<Integer> {

        private final int size;

        Numbers(int size) {
            this.size = size;
        }

        @Override
        public int size() {
            return size;
        }

        @Override
        public Integer get(int index) throws Exception {
            return index;
        }
    }
}
