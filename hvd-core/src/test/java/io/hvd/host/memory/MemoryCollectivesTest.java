package io.hvd.host.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.config.HvdConfig;
import io.hvd.error.ShutdownException;
import io.hvd.host.local.LocalHub;
import io.hvd.host.local.LocalProvider;
import io.hvd.host.local.ThreadPairs;
import io.hvd.kernel.Reducer;
import io.hvd.spi.Backend;
import io.hvd.spi.Collectives;
import io.hvd.spi.DataPlane;
import io.hvd.spi.Progress;
import io.hvd.spi.Reduction;
import io.hvd.tensor.DType;
import io.hvd.tensor.Device;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import io.hvd.testing.AgainstOracle;
import io.hvd.testing.PlainCollectives;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Threads in one group, and in several groups of any sizes whose leaders carry for them: the outer level and the flat
 * data plane are those of threads, too.
 */
@Timeout(120)
class MemoryCollectivesTest {
    private static final Reduction SUM = new Reduction(ReduceOp.SUM, DType.FLOAT32, 1, 1);
    private static final int STAGE_BYTES = 4096;

    private interface Body {
        void run(DataPlane tested, AgainstOracle check);
    }

    /** @param groups the name of each rank's group */
    private static void run(String groups, Body body) throws Exception {
        run(groups, body, false);
        run(groups, body, true);
    }

    private static void run(String groups, Body body, boolean sleep) throws Exception {
        List<String> group = List.of(groups.split(","));
        Map<String, List<Integer>> members = new TreeMap<>();
        IntStream.range(0, group.size())
                .forEach(rank -> members.computeIfAbsent(group.get(rank), name -> new ArrayList<>())
                        .add(rank));
        Map<String, LocalHub> hubs = new TreeMap<>();
        members.forEach((name, ranks) -> hubs.put(name, new LocalHub(ranks.size(), STAGE_BYTES, sleep)));
        List<LocalProvider> team = LocalProvider.ofThreads(group.size(), STAGE_BYTES);
        List<Collectives> oracles = PlainCollectives.team(group.size());
        onAll(group.size(), rank -> {
            try (Backend flat = team.get(rank).open(HvdConfig.from(Map.of()), List.of())) {
                LocalHub hub = hubs.get(group.get(rank));
                int place = members.get(group.get(rank)).indexOf(rank);
                DataPlane tested = over(flat, hub, place, List.copyOf(members.values()), rank);
                body.run(tested, new AgainstOracle(tested, oracles.get(rank), rank, group.size()));
            }
        });
    }

    private static DataPlane over(Backend flat, LocalHub hub, int place, List<List<Integer>> members, int rank) {
        Rounds rounds = new Rounds(hub.memory(place), hub.group(), Backoff.ofThreads(hub.size(), 1));
        if (members.size() == 1) {
            return new OneLevelCollectives(rounds, new Reducer(), new ThreadPairs(hub, place), true, Progress.NONE);
        }
        List<Integer> leaders = members.stream().map(ranks -> ranks.get(0)).toList();
        OuterLevel outer = place == 0 ? OuterLevel.of(flat.collectives(leaders)) : null;
        int own = IntStream.range(0, members.size())
                .filter(i -> members.get(i).contains(rank))
                .findFirst()
                .orElseThrow();
        return new TwoLevelCollectives(
                rounds,
                new Reducer(),
                TwoLevelCollectives.Flat.of(flat.collectives()),
                outer,
                new Groups(members, own, false),
                new TwoLevelCollectives.Limits(0, true, ""));
    }

    private interface ForRank {
        void run(int rank);
    }

    private static void onAll(int size, ForRank body)
            throws InterruptedException, ExecutionException, TimeoutException {
        List<CompletableFuture<Void>> ranks = IntStream.range(0, size)
                .mapToObj(rank -> CompletableFuture.runAsync(
                        () -> body.run(rank), task -> new Thread(task, "rank-" + rank).start()))
                .toList();
        for (CompletableFuture<Void> rank : ranks) {
            rank.get(100, TimeUnit.SECONDS);
        }
    }

    /** All ranks say so between the same two allreduces. */
    @Test
    void anAllreduceGoesInOneLevelOrTwoAsItIsTold() throws Exception {
        run("a,a,b,b,b", (tested, check) -> {
            for (int i = 0; i < 20; i++) {
                tested.levels().choose(i % 3 == 0);
                check.sum(DType.FLOAT32, new int[] {5, 9_000 * (i % 2), 1, 700});
            }
            assertThat(tested.levels().obstacle()).isEmpty();
        });
        run("a,a", (tested, check) -> {
            assertThat(tested.levels().obstacle()).hasValue("all ranks share one memory");
            assertThatThrownBy(() -> tested.levels().choose(false)).hasMessageContaining("all ranks share one memory");
        });
    }

    @ParameterizedTest
    @ValueSource(strings = {"a", "a,a", "a,a,a,a"})
    void allreduceInOneGroupGivesTheBitsOfTheOracle(String groups) throws Exception {
        run(groups, (tested, check) -> {
            for (DType type : DType.values()) {
                for (ReduceOp op : List.of(ReduceOp.SUM, ReduceOp.MIN, ReduceOp.MAX, ReduceOp.PRODUCT)) {
                    for (int[] sizes : new int[][] {{0}, {1}, {0, 3, 0}, {512}, {513}, {5, 9_000, 1, 700}}) {
                        check.allreduce(new Reduction(op, type, 1, 1), sizes, type);
                    }
                }
            }
        });
    }

    @ParameterizedTest
    @ValueSource(strings = {"a,b", "a,a,b,b", "a,b,a,b,a,b", "a,a,b", "a,b,b,b", "c,a,b,a,c,c"})
    void leadersCarryTheSumsOfGroupsOfAnySizes(String groups) throws Exception {
        run(groups, (tested, check) -> {
            for (DType type : List.of(DType.FLOAT32, DType.INT64, DType.INT8)) {
                for (int[] sizes : new int[][] {{0}, {1}, {0, 3, 0}, {2_049}, {4_001}, {5, 70_000, 1, 7_000}}) {
                    check.sum(type, sizes);
                }
            }
        });
    }

    @ParameterizedTest
    @ValueSource(strings = {"a", "a,a", "a,a,a", "a,b", "a,a,b,b", "a,b,b,a", "a,a,b", "c,a,b,a,c,c"})
    void whatMovesDataComesToTheSameAsTheOracle(String groups) throws Exception {
        run(groups, (tested, check) -> {
            for (int seed = 0; seed < 6; seed++) {
                check.movement(seed, 7_000);
            }
        });
    }

    @ParameterizedTest
    @ValueSource(strings = {"a,a,a", "a,a,b,b", "a,b,b,a,b"})
    void aVetoOfAnyRankIsHeardByAllAndWritesNothing(String groups) throws Exception {
        run(groups, (tested, check) -> {
            for (int elements : new int[] {0, 5, 5_000}) {
                for (int round = 0; round < 3 * check.size(); round++) {
                    float[] twos = new float[elements];
                    Arrays.fill(twos, 2);
                    Tensor tensor = Tensor.wrap(twos, DType.FLOAT32, Shape.of(elements));
                    boolean vetoed = round % 3 == 0;
                    if (vetoed && check.rank() == round / 3) {
                        tested.vetoAllreduce(Device.CPU, elements, SUM);
                    } else {
                        assertThat(tested.allreduceUnlessVetoed(List.of(tensor), List.of(tensor), SUM))
                                .isEqualTo(!vetoed);
                        for (float found : tensor.toFloatArray()) {
                            assertThat(found).isEqualTo(vetoed ? 2 : 2 * check.size());
                        }
                    }
                }
            }
        });
    }

    /** A set may be made again of the same ranks, whose hub stays; its counters begin anew. */
    @Test
    void setsOfTheSameRanksHaveMemoriesOfTheirOwn() throws Exception {
        List<LocalProvider> team = LocalProvider.ofThreads(3, STAGE_BYTES);
        onAll(3, rank -> {
            try (Backend local = team.get(rank).open(HvdConfig.from(Map.of()), List.of())) {
                for (int again = 0; again < 5 && rank != 1; again++) {
                    DataPlane set = local.collectives(List.of(0, 2));
                    for (int i = 0; i < again + 1; i++) {
                        Tensor tensor = Tensor.of(rank + 1f + i);
                        set.allreduce(List.of(tensor), List.of(tensor), SUM);
                        assertThat(tensor.item()).isEqualTo(4 + 2 * i);
                    }
                }
            }
        });
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aThreadThatIsLostReleasesThoseThatWaitForItInMemory(boolean sleep) {
        LocalHub hub = new LocalHub(2, STAGE_BYTES, sleep);
        Rounds rounds = new Rounds(hub.memory(0), hub.group(), Backoff.ofThreads(2, 1));
        OneLevelCollectives first =
                new OneLevelCollectives(rounds, new Reducer(), new ThreadPairs(hub, 0), true, Progress.NONE);
        CompletableFuture.delayedExecutor(100, TimeUnit.MILLISECONDS).execute(() -> {
            hub.lose(1, "it threw");
            hub.lose(0, "it waited for rank 1"); // what follows from the first loss is not its cause
        });
        Tensor tensor = Tensor.of(1f);
        assertThatThrownBy(() -> first.allreduce(List.of(tensor), List.of(tensor), SUM))
                .isInstanceOf(ShutdownException.class)
                .hasMessageEndingWith("rank 1 is gone: it threw");
        assertThat(tensor.item()).isEqualTo(1);
    }
}
