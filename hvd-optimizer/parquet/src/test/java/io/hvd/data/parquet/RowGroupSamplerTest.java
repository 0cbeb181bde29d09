package io.hvd.data.parquet;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.data.DataLoader;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Three files with 17 row groups of at most 20 rows, 317 rows in all. */
class RowGroupSamplerTest {
    private static final int ROWS = 317;
    private static final int BLOCKS = 17;

    @TempDir
    Path folder;

    private List<Path> files;

    @BeforeEach
    void write() throws IOException {
        files = ParquetFiles.ids(folder, 20, 137, 81, 99);
    }

    private ParquetDataset<Integer> rows() {
        return ParquetDataset.builder(files, row -> row.getInt("id")).build();
    }

    private RowGroupSampler.Builder sampler(int ranks, int rank) {
        return RowGroupSampler.builder(rows(), ranks, rank).seed(5);
    }

    private List<RowGroupSampler> samplers(int ranks) {
        return IntStream.range(0, ranks)
                .mapToObj(rank -> sampler(ranks, rank).padded(false).build())
                .toList();
    }

    /** What the ranks deal, one rank after the other. */
    private static int[] dealt(List<RowGroupSampler> samplers) {
        return samplers.stream()
                .flatMapToInt(sampler -> Arrays.stream(sampler.beginEpoch()))
                .toArray();
    }

    private static int[] sorted(int[] rows) {
        int[] copy = rows.clone();
        Arrays.sort(copy);
        return copy;
    }

    private static int[] all() {
        return IntStream.range(0, ROWS).toArray();
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4})
    void eachRowIsDealtOnceInAnOrderThatDoesNotDependOnTheRanks(int ranks) {
        List<RowGroupSampler> samplers = samplers(ranks);
        List<RowGroupSampler> one = samplers(1);
        int[] first = dealt(samplers);
        int[] second = dealt(samplers);

        assertThat(sorted(first)).isEqualTo(all());
        assertThat(sorted(second)).isEqualTo(all());
        assertThat(first).isNotEqualTo(second).isNotEqualTo(all()).isEqualTo(dealt(one));
        assertThat(second).isEqualTo(dealt(one));
        assertThat(samplers)
                .allSatisfy(sampler -> assertThat(sampler.length()).isBetween(ROWS / ranks, ROWS / ranks + 1));
    }

    @Test
    void withoutShufflingTheOrderIsThatOfTheFiles() {
        int[] second = sampler(2, 1).shuffle(false).padded(false).build().indices();

        assertThat(second).isEqualTo(IntStream.range(159, ROWS).toArray());
    }

    @Test
    void ranksWithOneRowFewerRepeatTheirLastOne() {
        int[] full = sampler(4, 0).build().indices();
        RowGroupSampler shorter = sampler(4, 1).build();

        assertThat(full).hasSize(80);
        assertThat(shorter.indices()).hasSize(80);
        assertThat(shorter.padding()).isEqualTo(1);
        assertThat(shorter.indices()[79]).isEqualTo(shorter.indices()[78]);
        assertThat(sampler(4, 0).build().padding()).isZero();
    }

    /** A rank reads a quarter of the blocks, and at most the two windows at its ends with its neighbours. */
    @Test
    void aRankReadsRowGroupsOfItsOwn() throws Exception {
        int decoded = 0;
        for (int rank = 0; rank < 4; rank++) {
            var rows = rows();
            var sampler = RowGroupSampler.builder(rows, 4, rank).window(2).build();
            for (int index : sampler.beginEpoch()) {
                assertThat(rows.get(index)).isEqualTo(index);
            }
            assertThat(rows.blocksDecoded()).isLessThanOrEqualTo(BLOCKS / 4 + 1 + 2 * 2);
            decoded += (int) rows.blocksDecoded();
        }
        assertThat(decoded).isBetween(BLOCKS, BLOCKS + 3 * 2);
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 3})
    void anyNumberOfWorkersGivesTheSameBatches(int workers) throws Exception {
        var rows = rows();
        List<Integer> seen = new ArrayList<>();
        try (var loader = DataLoader.<Integer, List<Integer>>builder(
                        rows, RowGroupSampler.builder(rows, 2, 1).seed(5).build(), List::copyOf)
                .batchSize(7)
                .workers(workers)
                .build()) {
            loader.forEach(seen::addAll);
        }
        assertThat(seen)
                .containsExactlyElementsOf(
                        Arrays.stream(sampler(2, 1).build().indices()).boxed().toList());
    }

    /** So many ranks see so many batches of 5 each, and the next ones go on; the last ones see what is left. */
    private int[] seenBy(int[] ranks, int[] batches) {
        int[] seen = {};
        Map<String, String> state = null;
        for (int run = 0; run < ranks.length; run++) {
            List<RowGroupSampler> samplers = samplers(ranks[run]);
            boolean isLast = run == ranks.length - 1;
            Map<String, String> saved = null;
            for (RowGroupSampler sampler : samplers) {
                if (state != null) {
                    sampler.loadState(state);
                }
                int[] mine = sampler.beginEpoch();
                int taken = isLast ? mine.length : Math.min(mine.length, 5 * batches[run]);
                seen = concat(seen, Arrays.copyOf(mine, taken));
                IntStream.range(0, isLast ? 100 : batches[run]).forEach(batch -> sampler.recordBatch(5));
                assertThat(saved == null || saved.equals(sampler.saveState())).isTrue();
                saved = sampler.saveState();
                assertThat(sampler.done()).isEqualTo(isLast ? 1 : sampler.done());
            }
            state = saved;
        }
        return seen;
    }

    private static int[] concat(int[] first, int[] second) {
        return IntStream.concat(Arrays.stream(first), Arrays.stream(second)).toArray();
    }

    @Test
    void anEpochThatOtherNumbersOfRanksGoOnWithHasEachRowOnce() {
        for (int batches = 0; batches < 17; batches++) {
            assertThat(sorted(seenBy(new int[] {4, 3}, new int[] {batches, 0}))).isEqualTo(all());
            assertThat(sorted(seenBy(new int[] {4, 3, 1, 2}, new int[] {batches, 3, 7, 0})))
                    .isEqualTo(all());
            assertThat(sorted(seenBy(new int[] {1, 4, 4, 7}, new int[] {batches, 2, 1, 0})))
                    .isEqualTo(all());
        }
    }

    /** Ranks are lost behind some batches, of which the last was not committed, and others come. */
    @ParameterizedTest
    @ValueSource(ints = {0, 1, 5, 12})
    void inAnElasticJobTheRestIsDealtToTheRanksThatThereAreAndEachRowIsSeenOnce(int batches) {
        List<RowGroupSampler> workers = new ArrayList<>();
        for (int worker = 0; worker < 5; worker++) {
            workers.add(RowGroupSampler.builder(rows()).seed(5).padded(false).build());
        }
        int[] seen = {};
        Map<String, String> committed = workers.get(0).saveState();
        for (List<Integer> members :
                List.of(List.of(0, 1, 2, 3), List.of(0, 2, 3), List.of(0, 2, 3), List.of(4, 2, 0, 3))) {
            Map<String, String> saved = committed;
            for (int rank = 0; rank < members.size(); rank++) {
                RowGroupSampler mine = workers.get(members.get(rank));
                mine.loadState(committed);
                mine.deal(members.size(), rank);
                int[] rows = mine.beginEpoch();
                seen = concat(seen, Arrays.copyOf(rows, Math.min(rows.length, 5 * batches)));
                IntStream.range(0, batches).forEach(batch -> mine.recordBatch(5));
                saved = mine.saveState();
                mine.recordBatch(5);
            }
            committed = saved;
        }
        int[] rest = {};
        for (int rank = 0; rank < 2; rank++) {
            workers.get(rank).loadState(committed);
            workers.get(rank).deal(2, rank);
            assertThat(workers.get(rank).isRest()).isEqualTo(batches > 0);
            rest = concat(rest, workers.get(rank).beginEpoch());
        }
        assertThat(sorted(concat(seen, rest))).isEqualTo(all());
        assertThatThrownBy(() -> workers.get(0).deal(2, 2)).hasMessageContaining("invalid rank 2");
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 8, 15})
    void asManyRanksGoOnWithTheVeryBatchesOfARunThatWasNotInterrupted(int batches) {
        for (int rank = 0; rank < 4; rank++) {
            RowGroupSampler first = sampler(4, rank).build();
            first.beginEpoch();
            int[] whole = first.beginEpoch();
            IntStream.range(0, batches).forEach(batch -> first.recordBatch(5));
            RowGroupSampler resumed = sampler(4, rank).build();
            resumed.loadState(first.saveState());
            resumed.setEpoch(1);

            assertThat(resumed.beginEpoch()).isEqualTo(Arrays.copyOfRange(whole, 5 * batches, whole.length));
            assertThat(resumed.isRest()).isEqualTo(batches > 0);
            assertThat(resumed.saveState()).isEqualTo(first.saveState());
            assertThat(resumed.beginEpoch()).isEqualTo(first.beginEpoch());
        }
    }

    @Test
    void theStateOfOtherFilesOrSettingsIsRefused() {
        Map<String, String> state = sampler(4, 0).build().saveState();
        files = files.subList(0, 2);
        refused(sampler(4, 0), state, "samples");
        files = List.of(files.get(1), files.get(0));
        refused(sampler(4, 0).seed(6), with(state, "samples", "218"), "blocks");
        refused(sampler(4, 0).seed(6), sampler(4, 0).build().saveState(), "seed");
        refused(sampler(4, 0), with(sampler(4, 0).build().saveState(), "seen", "4;20"), "4;20");
        refused(sampler(4, 0), Map.of("epoch", "1"), "kind");
    }

    private static Map<String, String> with(Map<String, String> state, String key, String value) {
        Map<String, String> changed = new HashMap<>(state);
        changed.put(key, value);
        return changed;
    }

    private static void refused(RowGroupSampler.Builder builder, Map<String, String> state, String fact) {
        assertThatThrownBy(() -> builder.build().loadState(state))
                .isInstanceOfSatisfying(
                        HvdException.class, error -> assertThat(error.id()).isEqualTo(ErrorId.STATE_MISMATCH))
                .hasMessageContaining(fact);
    }

    @Test
    void aWindowThatTheDataSetDoesNotKeepIsRefused() {
        assertThatThrownBy(() -> sampler(1, 0).window(9).build())
                .isInstanceOf(HvdException.class)
                .hasMessageContainingAll("window of 9", "1 to the 8");
    }
}
