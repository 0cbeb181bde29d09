package io.hvd.data;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ElasticSamplerTest {
    private static final long SEED = 7;

    private static ElasticSampler.Builder sampler(int size, int ranks, int rank) {
        return ElasticSampler.builder(size, ranks, rank).seed(SEED);
    }

    private static DataLoader<Integer, List<Integer>> loader(ElasticSampler sampler, int batchSize, int workers) {
        Dataset<Integer> numbers =
                Dataset.of(IntStream.range(0, sampler.datasetSize()).boxed().toList());
        return DataLoader.<Integer, List<Integer>>builder(numbers, sampler, List::copyOf)
                .batchSize(batchSize)
                .workers(workers)
                .build();
    }

    /** Takes so many batches, or all, and leaves out what is repeated at the end. */
    private static List<Integer> take(ElasticSampler sampler, int batchSize, int most) {
        List<Integer> seen = new ArrayList<>();
        try (var loader = loader(sampler, batchSize, 2)) {
            Epoch<List<Integer>> epoch = loader.iterator();
            int left = sampler.length() - sampler.padding();
            for (int taken = 0; taken < most && epoch.hasNext(); taken++) {
                List<Integer> batch = epoch.next();
                seen.addAll(batch.subList(0, Math.min(left, batch.size())));
                left -= Math.min(left, batch.size());
            }
        }
        return seen;
    }

    @ParameterizedTest
    @CsvSource({
        "101, 4, 3, 5, 3",
        "101, 4, 8, 5, 3",
        "64, 2, 1, 8, 2",
        "7, 3, 5, 1, 2",
        "30, 4, 3, 4, 0",
        "30, 4, 3, 4, 9"
    })
    void theRestOfAnEpochIsDealtToAnotherNumberOfRanksAndNoSampleIsSeenTwice(
            int size, int before, int after, int batchSize, int batches) {
        for (boolean padded : new boolean[] {true, false}) {
            List<Integer> seen = new ArrayList<>();
            Map<String, String> state = null;
            for (int rank = 0; rank < before; rank++) {
                ElasticSampler first =
                        sampler(size, before, rank).padded(padded).build();
                seen.addAll(take(first, batchSize, batches));
                state = rank == 0 ? first.saveState() : state;
            }
            for (int rank = 0; rank < after; rank++) {
                ElasticSampler rest = sampler(size, after, rank).padded(padded).build();
                rest.loadState(state);
                seen.addAll(take(rest, batchSize, Integer.MAX_VALUE));
            }
            assertThat(seen)
                    .containsExactlyInAnyOrderElementsOf(
                            IntStream.range(0, size).boxed().toList());
        }
    }

    @Test
    void aPaddedEpochWithoutAResumeIsThatOfADistributedSampler() {
        for (int rank = 0; rank < 3; rank++) {
            ElasticSampler elastic = sampler(20, 3, rank).build();
            DistributedSampler plain =
                    DistributedSampler.builder(20, 3, rank).seed(SEED).build();
            for (int epoch = 0; epoch < 3; epoch++) {
                assertThat(elastic.beginEpoch()).isEqualTo(plain.beginEpoch());
                assertThat(elastic.padding()).isEqualTo(plain.padding());
            }
        }
    }

    @Test
    void everyRankHasAsManySamplesOfTheRestOrOneFewerWithoutPadding() {
        for (int rank = 0; rank < 3; rank++) {
            ElasticSampler padded = sampler(11, 3, rank).build();
            ElasticSampler exact = sampler(11, 3, rank).padded(false).build();
            Map<String, String> four = new HashMap<>(padded.saveState());
            four.put("position", "4");
            padded.loadState(four);
            exact.loadState(four);
            assertThat(padded.beginEpoch()).hasSize(3);
            assertThat(exact.beginEpoch()).hasSize(rank == 0 ? 3 : 2);
            assertThat(padded.padding()).isEqualTo(rank == 0 ? 0 : 1);
        }
    }

    @Test
    void whatTheLoaderHasReadAheadIsNotSeen() {
        ElasticSampler sampler = sampler(100, 2, 0).build();
        try (var loader = loader(sampler, 5, 4)) {
            Epoch<List<Integer>> epoch = loader.iterator();
            epoch.next();
            epoch.next();
            assertThat(sampler.saveState()).containsEntry("position", "20");
            assertThat(sampler.done()).isEqualTo(0.2);
        }
    }

    @Test
    void theEpochAfterAResumedOneIsWholeAgain() {
        ElasticSampler sampler = sampler(10, 1, 0).build();
        take(sampler, 2, 3);
        ElasticSampler resumed = sampler(10, 2, 1).build();
        resumed.loadState(sampler.saveState());
        try (var loader = loader(resumed, 2, 0)) {
            assertThat(loader.batches()).isEqualTo(1);
            loader.forEach(batch -> {});
            loader.iterator();
            assertThat(resumed.epoch()).isEqualTo(1);
            assertThat(resumed.position()).isZero();
            assertThat(loader.batches()).isEqualTo(3);
        }
    }

    @Test
    void namingTheEpochThatComesNextKeepsThePositionAndAnotherOneBeginsAnew() {
        ElasticSampler sampler = sampler(10, 1, 0).build();
        Map<String, String> state = new HashMap<>(sampler.saveState());
        state.putAll(Map.of("epoch", "3", "position", "6"));
        sampler.loadState(state);
        sampler.setEpoch(3);
        assertThat(sampler.position()).isEqualTo(6);
        sampler.setEpoch(4);
        assertThat(sampler.position()).isZero();
        assertThat(sampler.beginEpoch()).isEqualTo(Permutation.of(10, SEED + 4));
    }

    @ParameterizedTest
    @CsvSource({
        "samples, 11, 10",
        "seed, 8, 7",
        "shuffle, false, true",
        "position, 11, a whole number from 0 to 10",
        "position, -1, a whole number from 0 to 10",
        "epoch, x, a whole number"
    })
    void aStateOfSomethingElseIsRefusedByItsKey(String key, String found, String expected) {
        ElasticSampler sampler = sampler(10, 2, 0).build();
        Map<String, String> state = new HashMap<>(sampler.saveState());
        state.put(key, found);
        assertThatThrownBy(() -> sampler.loadState(state))
                .isInstanceOfSatisfying(
                        HvdException.class, e -> assertThat(e.id()).isEqualTo(ErrorId.STATE_MISMATCH))
                .hasMessageContainingAll(
                        "ElasticSampler", "\"" + key + "\" is \"" + found + "\"", "expected " + expected);
        state.remove(key);
        assertThatThrownBy(() -> sampler.loadState(state)).hasMessageContaining("\"" + key + "\" is missing");
    }

    /** The ranks of an elastic job change twice; batches that were loaded ahead are dropped, and closed. */
    @Test
    void theRestIsDealtToTheRanksThatThereAreAndWhatWasLoadedAheadIsClosed() {
        record Numbers(List<Integer> all, AtomicInteger open) implements AutoCloseable {
            @Override
            public void close() {
                open.decrementAndGet();
            }
        }
        AtomicInteger open = new AtomicInteger();
        List<Integer> seen = new ArrayList<>();
        int[][] rounds = {{4, 3}, {3, 2}, {3, 1}, {5, 99}};
        List<ElasticSampler> samplers = new ArrayList<>();
        List<DataLoader<Integer, Numbers>> loaders = new ArrayList<>();
        for (int rank = 0; rank < 5; rank++) {
            ElasticSampler sampler =
                    ElasticSampler.builder(101).seed(SEED).padded(false).build();
            Dataset<Integer> numbers =
                    Dataset.of(IntStream.range(0, 101).boxed().toList());
            samplers.add(sampler);
            loaders.add(DataLoader.<Integer, Numbers>builder(numbers, sampler, batch -> {
                        open.incrementAndGet();
                        return new Numbers(List.copyOf(batch), open);
                    })
                    .batchSize(4)
                    .workers(2)
                    .prefetch(3)
                    .build());
        }
        for (int[] round : rounds) {
            Map<String, String> state = samplers.get(0).saveState();
            for (int rank = 0; rank < round[0]; rank++) {
                ElasticSampler sampler = samplers.get(rank);
                sampler.loadState(state);
                sampler.deal(round[0], rank);
                assertThat(sampler.replicas()).isEqualTo(round[0]);
                Epoch<Numbers> pass = loaders.get(rank).iterator();
                for (int taken = 0; taken < round[1] && pass.hasNext(); taken++) {
                    try (Numbers batch = pass.next()) {
                        seen.addAll(batch.all());
                    }
                }
            }
        }
        loaders.forEach(DataLoader::close);
        assertThat(open).hasValue(0);
        assertThat(seen)
                .containsExactlyInAnyOrderElementsOf(
                        IntStream.range(0, 101).boxed().toList());
        assertThatThrownBy(() -> samplers.get(0).deal(2, 2)).isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void withAsManyRanksADealChangesNothingInWhatIsLeft() {
        ElasticSampler dealt = sampler(101, 3, 1).build();
        ElasticSampler left = sampler(101, 3, 1).build();
        for (ElasticSampler each : List.of(dealt, left)) {
            each.beginEpoch();
            each.recordBatch(4);
            each.recordBatch(4);
        }
        dealt.deal(3, 1);
        Map<String, String> state = left.saveState();
        assertThat(dealt.saveState()).isEqualTo(state);
        left.loadState(state);
        assertThat(dealt.beginEpoch()).isEqualTo(left.beginEpoch());
        assertThat(dealt.progress(4, 1, 6)).isEqualTo(left.progress(4, 1, 6));
    }
}
