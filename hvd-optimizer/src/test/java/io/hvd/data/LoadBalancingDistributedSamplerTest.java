package io.hvd.data;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.train.PaddingMask;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class LoadBalancingDistributedSamplerTest {
    private static final int RANKS = 4;
    private static final int BATCH = 16;

    /** Many short texts and few long ones: the lengths' logarithms are spread evenly from 8 to 1024. */
    private static final long[] LENGTHS = skewed(4_003);

    @Test
    void inAStepTheRanksHaveSimilarWorkWhereTheOrderOfDistributedSamplerMakesStragglers() {
        List<int[]> balanced = new ArrayList<>();
        List<int[]> plain = new ArrayList<>();
        for (int rank = 0; rank < RANKS; rank++) {
            balanced.add(sampler(LENGTHS, RANKS, rank).build().indices());
            plain.add(new DistributedSampler(LENGTHS.length, RANKS, rank).indices());
        }

        double lostTime = slowestOverMean(plain) - 1;
        assertThat(lostTime).as("time lost with DistributedSampler").isGreaterThan(0.15);
        assertThat(slowestOverMean(balanced) - 1).as("time lost when balanced").isLessThan(lostTime / 20);
    }

    /** If a rank always had the largest sample of its group, it would be a straggler in every step. */
    @Test
    void noRankAlwaysHasTheMostWorkOfAStep() {
        int[] slowest = new int[RANKS];
        int[][] order = IntStream.range(0, RANKS)
                .mapToObj(rank -> sampler(LENGTHS, RANKS, rank).build().indices())
                .toArray(int[][]::new);
        for (int step = 0; step + BATCH <= order[0].length; step += BATCH) {
            long[] work = new long[RANKS];
            for (int rank = 0; rank < RANKS; rank++) {
                work[rank] = sum(order[rank], step);
            }
            slowest[indexOfMax(work)]++;
        }
        int steps = Arrays.stream(slowest).sum();
        assertThat(Arrays.stream(slowest).max().orElseThrow()).isLessThan(steps / 2);
    }

    @ParameterizedTest
    @CsvSource({"4003, 4, 16", "4000, 4, 16", "97, 3, 8", "7, 2, 16", "64, 1, 1"})
    void batchesOfNeighboursNeedLittlePaddingAndDealEverySample(int size, int ranks, int batch) {
        long[] lengths = skewed(size);
        List<Integer> counted = new ArrayList<>();
        long padded = 0;
        long mixed = 0;
        for (int rank = 0; rank < ranks; rank++) {
            Sampler sampler = sampler(lengths, ranks, rank).batchesOf(batch).build();
            int[] indices = sampler.indices();
            Arrays.stream(indices).forEach(counted::add);
            padded += tokensWithPadding(indices, lengths, batch);
            mixed += tokensWithPadding(sampler(lengths, ranks, rank).build().indices(), lengths, batch);
        }
        assertThat(new HashSet<>(counted)).hasSize(size);
        if (size > 1000) {
            long tokens = Arrays.stream(lengths).sum();
            assertThat(padded / (double) tokens).isLessThan(1.05);
            assertThat(mixed / (double) tokens).isGreaterThan(1.5);
        }
    }

    private static long tokensWithPadding(int[] indices, long[] lengths, int batch) {
        long tokens = 0;
        for (int from = 0; from < indices.length; from += batch) {
            int[] one = Arrays.copyOfRange(indices, from, Math.min(indices.length, from + batch));
            tokens += one.length
                    * Arrays.stream(one)
                            .mapToLong(index -> lengths[index])
                            .max()
                            .orElseThrow();
        }
        return tokens;
    }

    /** A step of several ranks has the samples of a step of one rank with as large a batch, also if the samples do not fill the steps. */
    @ParameterizedTest
    @ValueSource(ints = {960, 961, 970, 991})
    void theStepsAreTheSameForAnyNumberOfRanksThatDividesThem(int size) {
        long[] lengths = skewed(size);
        int[] alone = sampler(lengths, 1, 0).batchesOf(32).build().indices();
        for (int ranks : new int[] {2, 4}) {
            int batch = 32 / ranks;
            for (int step = 0; step * 32 < size; step++) {
                Set<Integer> together = new HashSet<>();
                for (int rank = 0; rank < ranks; rank++) {
                    int[] mine = sampler(lengths, ranks, rank)
                            .batchesOf(batch)
                            .build()
                            .indices();
                    Arrays.stream(mine, step * batch, Math.min(mine.length, (step + 1) * batch))
                            .forEach(together::add);
                }
                Set<Integer> expected = new HashSet<>();
                Arrays.stream(alone, step * 32, Math.min(size, (step + 1) * 32)).forEach(expected::add);
                assertThat(together).isEqualTo(expected);
            }
        }
    }

    /** Interrupted twice: with other ranks and batches, and with other batches alone. */
    @Test
    void theRestIsDealtOnceInBatchesOfAnotherSize() {
        List<Integer> seen = new ArrayList<>();
        Map<String, String> state = Map.of();
        int[][] parts = {{2, 8, 5}, {4, 4, 6}, {4, 16, 2}, {3, 8, Integer.MAX_VALUE}};
        for (int[] part : parts) {
            Map<String, String> from = state;
            for (int rank = 0; rank < part[0]; rank++) {
                var sampler = sampler(LENGTHS, part[0], rank).batchesOf(part[1]).build();
                if (!from.isEmpty()) {
                    sampler.loadState(from);
                }
                int[] indices = sampler.beginEpoch();
                int counted = new PaddingMask(sampler).counted(indices.length);
                int taken = (int) Math.min(counted, (long) part[1] * part[2]);
                Arrays.stream(indices, 0, taken).forEach(seen::add);
                for (int batch = 0; batch < part[2] && batch * part[1] < indices.length; batch++) {
                    sampler.recordBatch(part[1]);
                }
                state = sampler.saveState();
            }
        }
        assertThat(seen).hasSize(LENGTHS.length).doesNotHaveDuplicates();
        assertThatThrownBy(() -> sampler(LENGTHS, 2, 0).batchesOf(0)).hasMessageContaining("batchesOf");
    }

    @ParameterizedTest
    @CsvSource({"0, 3", "1, 1", "2, 5", "5, 5", "7, 3", "12, 4", "1001, 4", "1001, 7"})
    void everySampleIsDealtAndWhatIsRepeatedStandsAtTheEnd(int size, int ranks) {
        for (int epoch = 0; epoch < 3; epoch++) {
            List<Integer> counted = new ArrayList<>();
            for (int rank = 0; rank < ranks; rank++) {
                Sampler sampler = inEpoch(epoch, sampler(skewed(size), ranks, rank));
                int[] indices = sampler.indices();
                assertThat(indices).hasSize((size + ranks - 1) / ranks).hasSize(sampler.length());
                int real = new PaddingMask(sampler).counted(indices.length);
                assertThat(real).isEqualTo(indices.length - sampler.padding());
                Arrays.stream(indices, 0, real).forEach(counted::add);
            }
            assertThat(counted)
                    .containsExactlyInAnyOrderElementsOf(
                            IntStream.range(0, size).boxed().toList());
        }
    }

    /** The batches of some ranks, from a state on, and what they leave. */
    private static List<Integer> batches(int ranks, int batch, int count, Map<String, String> from, boolean dropLast) {
        List<Integer> seen = new ArrayList<>();
        for (int rank = 0; rank < ranks; rank++) {
            var sampler = sampler(LENGTHS, ranks, rank).dropLast(dropLast).build();
            sampler.loadState(from);
            int[] mine = sampler.beginEpoch();
            assertThat(mine).hasSize(sampler.length());
            int end = Math.min(count * batch, mine.length - sampler.padding());
            Arrays.stream(mine, 0, end).forEach(seen::add);
        }
        return seen;
    }

    /** The state after some batches. */
    private static Map<String, String> after(int ranks, int batch, int count, Map<String, String> from) {
        var sampler = sampler(LENGTHS, ranks, 0).build();
        sampler.loadState(from);
        sampler.beginEpoch();
        for (int i = 0; i < count; i++) {
            sampler.recordBatch(batch);
        }
        return sampler.saveState();
    }

    @Test
    void inTheMiddleOfAnEpochItGoesOnWithOtherRanksAndEachSampleIsDealtOnce() {
        var first = sampler(LENGTHS, 4, 0).build();
        first.setEpoch(2);
        Map<String, String> begin = first.saveState();
        List<Integer> seen = new ArrayList<>(batches(4, 16, 20, begin, false));
        Map<String, String> twenty = after(4, 16, 20, begin);
        seen.addAll(batches(3, 16, 30, twenty, false));
        Map<String, String> fifty = after(3, 16, 30, twenty);
        assertThat(fifty).containsEntry("seen", "4:1280 3:1440");
        seen.addAll(batches(2, 16, 10_000, fifty, false));

        assertThat(seen)
                .containsExactlyInAnyOrderElementsOf(
                        IntStream.range(0, LENGTHS.length).boxed().toList());
        assertThat(after(2, 16, 10_000, fifty)).containsEntry("seen", "4:1280 3:1440 2:1283");
    }

    @Test
    void withAsManyRanksTheOrderIsThatOfAnEpochThatWasNotInterruptedAndSoIsTheProgress() {
        for (boolean dropLast : new boolean[] {false, true}) {
            for (int rank = 0; rank < RANKS; rank++) {
                var whole = sampler(LENGTHS, RANKS, rank).dropLast(dropLast).build();
                int[] all = whole.beginEpoch();
                int batches = (all.length + BATCH - 1) / BATCH;
                for (int i = 0; i < 10; i++) {
                    whole.recordBatch(BATCH);
                }
                var resumed = sampler(LENGTHS, RANKS, rank).dropLast(dropLast).build();
                resumed.loadState(whole.saveState());
                assertThat(resumed.isRest()).isTrue();
                assertThat(resumed.done()).isEqualTo(10.0 * BATCH * RANKS / LENGTHS.length);
                assertThat(resumed.beginEpoch()).isEqualTo(Arrays.copyOfRange(all, 10 * BATCH, all.length));
                assertThat(resumed.padding()).isEqualTo(whole.padding());
                assertThat(resumed.progress(BATCH, 3, batches - 10)).isEqualTo(whole.progress(BATCH, 13, batches));
                for (int i = 10; i < batches; i++) {
                    resumed.recordBatch(BATCH);
                }
                var ended = sampler(LENGTHS, RANKS, rank).dropLast(dropLast).build();
                ended.loadState(resumed.saveState());
                assertThat(ended.length()).as("the epoch is over").isZero();
                assertThat(resumed.beginEpoch()).as("the next epoch is whole").hasSize(all.length);
            }
        }
    }

    @Test
    void aStateOfOtherSamplesIsRefusedByItsKeyAndValues() {
        Map<String, String> state = sampler(skewed(7), 2, 0).build().saveState();
        assertThatThrownBy(() -> sampler(skewed(8), 2, 0).build().loadState(state))
                .hasMessageContainingAll("a LoadBalancingDistributedSampler does not fit", "expected");
        Map<String, String> damaged = new HashMap<>(state);
        damaged.put("seen", "2:9");
        assertThatThrownBy(() -> sampler(skewed(7), 2, 0).build().loadState(damaged))
                .hasMessageContainingAll("\"samples\"", "\"9\"", "7");
        damaged.put("seen", "two");
        assertThatThrownBy(() -> sampler(skewed(7), 2, 0).build().loadState(damaged))
                .hasMessageContainingAll("\"ranks\"", "\"two\"");
        assertThatThrownBy(() -> ElasticSampler.builder(7, 2, 0).build().loadState(state))
                .hasMessageContaining("kind");
    }

    @Test
    void whatIsRepeatedIsAsComplexAsWhatTheOtherRanksHaveAtThatTime() {
        long[] lengths = IntStream.range(0, 41).mapToLong(i -> 100L * i).toArray();
        for (int epoch = 0; epoch < 5; epoch++) {
            Set<Integer> last = new HashSet<>();
            for (int rank = 0; rank < RANKS; rank++) {
                int[] indices = inEpoch(epoch, sampler(lengths, RANKS, rank)).indices();
                last.add(indices[indices.length - 1]);
            }
            assertThat(last).as("one sample is over, and all ranks have it").hasSize(1);
        }
    }

    @Test
    void withDropLastEachEpochLeavesOutOtherSamplesAndNotAlwaysTheLongest() {
        Set<Set<Integer>> leftOut = new HashSet<>();
        for (int epoch = 0; epoch < 8; epoch++) {
            Set<Integer> missing = new HashSet<>(IntStream.range(0, 43).boxed().toList());
            for (int rank = 0; rank < RANKS; rank++) {
                Sampler sampler =
                        inEpoch(epoch, sampler(skewed(43), RANKS, rank).dropLast(true));
                assertThat(sampler.length()).isEqualTo(10);
                assertThat(sampler.padding()).isZero();
                Arrays.stream(sampler.indices())
                        .forEach(index -> assertThat(missing.remove(index))
                                .as("sample %d is dealt once", index)
                                .isTrue());
            }
            assertThat(missing).hasSize(3);
            leftOut.add(missing);
        }
        assertThat(leftOut).hasSizeGreaterThan(3);
    }

    @Test
    void epochsAndSeedsHaveOrdersOfTheirOwnAndIteratingMovesOn() {
        var sampler = sampler(LENGTHS, RANKS, 1).build();
        int[] first = sampler.beginEpoch();
        int[] second = sampler.beginEpoch();
        assertThat(second).isNotEqualTo(first);
        assertThat(sampler.epoch()).isEqualTo(1);
        sampler.setEpoch(0);
        assertThat(sampler.beginEpoch()).isEqualTo(first);
        assertThat(sampler(LENGTHS, RANKS, 1).seed(77).build().indices()).isNotEqualTo(first);
        assertThatThrownBy(() -> sampler.setEpoch(-1)).hasMessageContainingAll("epoch", "-1");
    }

    @Test
    void theRandomLevelTradesBalanceForMixing() {
        double none = slowestOverMean(orders(0));
        double some = slowestOverMean(orders(0.1));
        double full = slowestOverMean(orders(1));
        assertThat(none).isLessThan(some);
        assertThat(some).isLessThan(full);
    }

    @Test
    void samplesOfEqualComplexityMeetOthersInEachEpoch() {
        Set<List<Integer>> neighbours = new HashSet<>();
        for (int epoch = 0; epoch < 10; epoch++) {
            List<Integer> group = new ArrayList<>();
            for (int rank = 0; rank < 2; rank++) {
                int[] indices = inEpoch(epoch, sampler(new long[100], 2, rank)).indices();
                group.add(indices[0]);
            }
            Collections.sort(group);
            neighbours.add(group);
        }
        assertThat(neighbours).hasSizeGreaterThan(5);
    }

    @Test
    void complexitiesOfAnySizeAreSortedAndADataSetIsAskedForThem() throws Exception {
        Dataset<Long> texts =
                Dataset.of(List.of(Long.MAX_VALUE, 0L, Long.MAX_VALUE / 2, Long.MAX_VALUE - 1, 5L, 1L << 61));
        for (int epoch = 0; epoch < 4; epoch++) {
            List<int[]> dealt = new ArrayList<>();
            for (int rank = 0; rank < 2; rank++) {
                dealt.add(inEpoch(epoch, LoadBalancingDistributedSampler.builder(texts, text -> text, 2, rank))
                        .indices());
            }
            Set<Set<Integer>> groups = new HashSet<>();
            for (int i = 0; i < 3; i++) {
                groups.add(Set.of(dealt.get(0)[i], dealt.get(1)[i]));
            }
            assertThat(groups).containsExactlyInAnyOrder(Set.of(1, 4), Set.of(2, 5), Set.of(0, 3));
        }
    }

    @Test
    void whatCannotBeMeantIsRefused() {
        assertThatThrownBy(() -> sampler(new long[] {3, -7}, 2, 0)).hasMessageContainingAll("sample 1", "-7");
        assertThatThrownBy(() -> sampler(new long[3], 2, 2)).hasMessageContainingAll("invalid rank 2", "[0, 1]");
        assertThatThrownBy(() -> sampler(new long[3], 2, 0).randomLevel(1.5)).hasMessageContainingAll("[0, 1]", "1.5");
        assertThatThrownBy(() -> sampler(new long[3], 2, 0).randomLevel(Double.NaN))
                .hasMessageContaining("NaN");
    }

    private static LoadBalancingDistributedSampler.Builder sampler(long[] complexities, int ranks, int rank) {
        return LoadBalancingDistributedSampler.builder(complexities, ranks, rank);
    }

    private static Sampler inEpoch(int epoch, LoadBalancingDistributedSampler.Builder builder) {
        var sampler = builder.build();
        sampler.setEpoch(epoch);
        return sampler;
    }

    private static List<int[]> orders(double randomLevel) {
        return IntStream.range(0, RANKS)
                .mapToObj(rank -> sampler(LENGTHS, RANKS, rank)
                        .randomLevel(randomLevel)
                        .build()
                        .indices())
                .toList();
    }

    private static long[] skewed(int size) {
        var random = new SplitMix64(3);
        return IntStream.range(0, size)
                .mapToLong(i -> (long) (8 * Math.pow(2, 7 * random.nextDouble())))
                .toArray();
    }

    /** How much longer the steps take than with the same work on every rank. */
    private static double slowestOverMean(List<int[]> orders) {
        double slowest = 0;
        double mean = 0;
        for (int step = 0; step + BATCH <= orders.get(0).length; step += BATCH) {
            int from = step;
            long[] work = orders.stream().mapToLong(order -> sum(order, from)).toArray();
            slowest += Arrays.stream(work).max().orElseThrow();
            mean += Arrays.stream(work).average().orElseThrow();
        }
        return slowest / mean;
    }

    private static long sum(int[] order, int from) {
        return Arrays.stream(order, from, from + BATCH)
                .mapToLong(i -> LENGTHS[i])
                .sum();
    }

    private static int indexOfMax(long[] values) {
        return IntStream.range(0, values.length)
                .reduce((a, b) -> values[b] > values[a] ? b : a)
                .orElseThrow();
    }
}
