package io.hvd.train.checkpoint;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.error.HvdException;
import io.hvd.optimizer.torch.TorchRuntime;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.IntFunction;
import java.util.stream.IntStream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.EnumSource;

/** Shared-out optimizer state in an elastic job, whose generations are jobs of threads, one after the other. */
@ParameterizedClass(name = "{0}")
@EnumSource
@Timeout(120)
class ShardedElasticTest {
    private static final String ON_LOST_RANKS = " parameters was on lost ranks and ";

    enum Kind {
        ARRAYS(ArrayFitModel::new, false, Set.of("p2", "p3")),
        ARRAYS_IN_AMP(ArrayFitModel::new, true, Set.of("p2", "p3")),
        LIBTORCH(TorchFitModel::new, false, Set.of("dense2.weight")),
        LIBTORCH_IN_AMP(TorchFitModel::new, true, Set.of("dense2.weight"));

        private final IntFunction<ShardedFit.Model> model;
        private final boolean amp;
        /** The parameters of rank 1 of 3. */
        private final Set<String> ofRank1;

        Kind(IntFunction<ShardedFit.Model> model, boolean amp, Set<String> ofRank1) {
            this.model = model;
            this.amp = amp;
            this.ofRank1 = ofRank1;
        }
    }

    /** What ranks of a generation do, each with a worker of its own. */
    private interface Body {
        void run(HvdContext hvd, ShardedFit mine) throws Exception;
    }

    @Parameter
    Kind kind;

    @TempDir
    Path folder;

    @BeforeAll
    static void unpack() {
        TorchRuntime.prepare();
    }

    private List<ShardedFit> workers(int count) {
        return IntStream.range(0, count)
                .mapToObj(
                        number -> new ShardedFit(kind.model.apply(number), kind.model.apply(number), kind.amp, folder))
                .toList();
    }

    private static void generation(List<ShardedFit> workers, int root, Body body) {
        Hvd.spawn(workers.size(), hvd -> {
            ShardedFit mine = workers.get(hvd.rank());
            mine.sync(hvd, root);
            body.run(hvd, mine);
            return null;
        });
    }

    /** A generation from step to step in which nothing is lost: both trainings are the same to the last bit. */
    private static void train(List<ShardedFit> workers, int root, int from, int to, boolean change) {
        generation(workers, root, (hvd, mine) -> {
            assertThat(mine.shared.optimizersState(hvd)).isEqualTo(mine.plain.optimizersState(hvd));
            mine.steps(hvd, from, to);
            if (change) {
                mine.change(hvd);
            }
        });
        assertThat(workers)
                .allSatisfy(worker -> assertThat(worker.shared.values()).isEqualTo(worker.plain.values()));
        assertThat(workers).extracting(worker -> worker.shared.state.news()).containsOnly("");
    }

    @Test
    void ranksThatComeChangeNoBit() {
        for (boolean handedOver : new boolean[] {true, false}) {
            List<ShardedFit> workers = workers(3);
            List<ShardedFit> first = workers.subList(1, 3);
            train(first, 0, 0, 4, handedOver);
            String before = workers.get(1).shared.values();
            train(workers, 1, 4, 8, false); // the new one is rank 0
            assertThat(workers.get(0).shared.values()).isNotEqualTo(before);
            assertThat(workers)
                    .extracting(worker -> worker.shared.values())
                    .containsOnly(workers.get(0).plain.values());
        }
    }

    @Test
    void ranksThatLeaveInOrderTakeNothingWithThemDownToOneRankAndUpAgain() {
        List<ShardedFit> workers = workers(3);
        train(workers, 0, 0, 3, true);
        train(workers.subList(2, 3), 0, 3, 5, true);
        train(workers.subList(1, 3), 1, 5, 7, false);
        train(workers, 2, 7, 8, false);
    }

    /** Worker 1 is lost in a step that nobody ends; worker 2 becomes rank 0. */
    private List<ShardedFit> losesOne(List<ShardedFit> workers, SortedMap<String, String> moments, Body before) {
        generation(workers, 0, (hvd, mine) -> {
            before.run(hvd, mine);
            SortedMap<String, String> all = mine.plain.moments(hvd);
            if (hvd.rank() == 0) {
                moments.putAll(all);
            }
        });
        List<ShardedFit> left = List.of(workers.get(2), workers.get(0));
        left.forEach(ShardedFit::abandon);
        return left;
    }

    private static SortedMap<String, String> without(Map<String, String> all, Set<String> names) {
        SortedMap<String, String> left = new TreeMap<>(all);
        left.keySet().removeAll(names);
        return left;
    }

    private String lost() {
        int all = kind.model.apply(0).values().size();
        return ", the optimizer's state of " + kind.ofRank1.size() + " of " + all + ON_LOST_RANKS;
    }

    @Test
    void ofALostRanksShareTheMomentsBeginAnewAndAllOthersAreKeptToTheLastBit() {
        List<ShardedFit> workers = workers(3);
        SortedMap<String, String> before = new TreeMap<>();
        List<ShardedFit> left = losesOne(workers, before, (hvd, mine) -> mine.steps(hvd, 0, 4));
        generation(left, 1, (hvd, mine) -> {
            assertThat(mine.shared.moments(hvd))
                    .isEqualTo(without(before, kind.ofRank1))
                    .isNotEmpty();
            assertThat(mine.shared.state.news()).isEqualTo(lost() + "begins anew");
            mine.steps(hvd, 4, 6);
            assertThat(mine.shared.state.news()).isEmpty();
            SortedMap<String, String> after = mine.shared.moments(hvd);
            assertThat(after).containsOnlyKeys(before.keySet());
            kind.ofRank1.forEach(name -> assertThat(after.get(name)).matches("(step )?2 .*"));
            assertThat(without(after, kind.ofRank1).values()).allMatch(words -> words.matches("(step )?6 .*"));
        });
        assertThat(left.get(0).shared.values()).isEqualTo(left.get(1).shared.values());
        Set<String> stillNew = new TreeMap<>(before).keySet();
        generation(List.of(left.get(1), left.get(0), workers(1).get(0)), 1, (hvd, mine) -> {
            assertThat(mine.shared.moments(hvd)).containsOnlyKeys(stillNew);
            kind.ofRank1.forEach(
                    name -> assertThat(mine.shared.moments(hvd).get(name)).matches("(step )?2 .*"));
            mine.steps(hvd, 6, 7);
        });
    }

    @Test
    void aLostRanksShareComesFromTheNewestCheckpointThatIsWhole() throws IOException {
        List<ShardedFit> workers = workers(3);
        Map<String, String> saved = new ConcurrentHashMap<>();
        SortedMap<String, String> before = new TreeMap<>();
        List<ShardedFit> left = losesOne(workers, before, (hvd, mine) -> {
            mine.steps(hvd, 0, 1);
            try (Checkpoints checkpoints = checkpoints(hvd, mine.shared)) {
                checkpoints.saveAndWait(1, 0);
                mine.steps(hvd, 1, 2);
                checkpoints.saveAndWait(2, 0);
                saved.putAll(mine.plain.moments(hvd));
                mine.steps(hvd, 2, 4);
                checkpoints.saveAndWait(4, 0);
                mine.steps(hvd, 4, 5);
            }
        });
        Path newest = folder.resolve("step-0000000004.safetensors");
        Files.write(newest, List.of("damaged"));
        generation(left, 0, (hvd, mine) -> {
            SortedMap<String, String> expected = without(before, kind.ofRank1);
            kind.ofRank1.forEach(name -> expected.put(name, saved.get(name)));
            assertThat(mine.shared.moments(hvd)).isEqualTo(expected).isNotEqualTo(before);
            assertThat(mine.shared.state.news()).isEqualTo(lost() + "comes from the checkpoint of step 2");
            mine.steps(hvd, 5, 7);
        });
        assertThat(left.get(0).shared.values()).isEqualTo(left.get(1).shared.values());
    }

    private Checkpoints checkpoints(HvdContext hvd, ShardedFit.Side side) {
        return Checkpoints.in(folder, hvd, side.state.optimizer())
                .model(side.model::values, side.model::load)
                .after(() -> side.sharded().consolidate(0))
                .build();
    }

    /** The root has its new share and the others have their old ones. */
    @Test
    void aRankThatIsLostWhileTheStateIsDealtLeavesNoMixture() {
        List<ShardedFit> workers = workers(4);
        train(workers.subList(0, 3), 0, 0, 4, false);
        ShardedFit lost = workers.get(3);
        failsInSync(workers, 0, lost);
        workers.subList(0, 3).forEach(ShardedFit::abandon);
        List<ShardedFit> left = List.of(workers.get(2), workers.get(1), workers.get(0));
        train(left, 0, 4, 6, false); // a root that has its old share
    }

    /** It alone has had the whole; the others still have their old shares. */
    @Test
    void aRootThatIsLostWhileItDealsTakesItsOwnShareAlone() {
        List<ShardedFit> workers = workers(3);
        SortedMap<String, String> before = new TreeMap<>();
        losesOne(workers, before, (hvd, mine) -> mine.steps(hvd, 0, 4));
        failsInSync(workers, 1, workers.get(1));
        List<ShardedFit> left = List.of(workers.get(2), workers.get(0));
        left.forEach(ShardedFit::abandon);
        generation(left, 1, (hvd, mine) -> {
            assertThat(mine.shared.moments(hvd)).isEqualTo(without(before, kind.ofRank1));
            assertThat(mine.shared.state.news()).isEqualTo(lost() + "begins anew");
            mine.steps(hvd, 4, 5);
        });
        assertThat(left.get(0).shared.values()).isEqualTo(left.get(1).shared.values());
    }

    /** The share that was lost before is lost once, and it is said when the generation begins. */
    @Test
    void whatWasLostBeforeIsSaidInTheGenerationThatBegins() {
        List<ShardedFit> workers = workers(3);
        SortedMap<String, String> before = new TreeMap<>();
        List<ShardedFit> left = new ArrayList<>(losesOne(workers, before, (hvd, mine) -> mine.steps(hvd, 0, 4)));
        ShardedFit lost = workers(1).get(0);
        left.add(lost);
        failsInSync(left, 0, lost);
        left.remove(lost);
        left.forEach(ShardedFit::abandon);
        generation(left, 1, (hvd, mine) -> {
            assertThat(mine.shared.moments(hvd)).isEqualTo(without(before, kind.ofRank1));
            assertThat(mine.shared.state.news()).isEqualTo(lost() + "begins anew");
            mine.steps(hvd, 4, 5);
        });
        assertThat(left.get(0).shared.values()).isEqualTo(left.get(1).shared.values());
    }

    @Test
    void aFirstGenerationThatFailsIsFollowedByOneOfFewerRanks() {
        List<ShardedFit> workers = workers(3);
        failsInSync(workers, 0, workers.get(2));
        workers.subList(0, 2).forEach(ShardedFit::abandon);
        train(List.of(workers.get(1), workers.get(0)), 1, 0, 3, false);
    }

    private static void failsInSync(List<ShardedFit> workers, int root, ShardedFit lost) {
        lost.shared.inSync = () -> {
            throw new IllegalStateException("lost while it takes over the state");
        };
        assertThatThrownBy(() -> Hvd.spawn(workers.size(), hvd -> {
                    ShardedFit mine = workers.get(hvd.rank());
                    if (mine == lost) {
                        mine.sync(hvd, root);
                    } else {
                        assertThatThrownBy(() -> mine.sync(hvd, root)).isInstanceOf(HvdException.class);
                    }
                    return null;
                }))
                .hasStackTraceContaining("lost while it takes over the state");
    }

    /** Nobody has ended a step since the state was dealt, so each rank still has all of it. */
    @Test
    void aRankThatIsLostInTheFirstStepOfAGenerationTakesNothingWithIt() {
        List<ShardedFit> workers = workers(3);
        train(workers, 0, 0, 3, false);
        generation(workers, 0, (hvd, mine) -> mine.shared.sharded().step()); // on each rank, but nobody commits it
        workers.forEach(ShardedFit::abandon);
        List<ShardedFit> left = List.of(workers.get(2), workers.get(0));
        generation(left, 1, (hvd, mine) -> {
            assertThat(mine.shared.optimizersState(hvd)).isEqualTo(mine.plain.optimizersState(hvd));
            assertThat(mine.shared.state.news()).isEmpty();
        });
    }

    /** The ranks have ended a step since the state was dealt; one that has not must not give what it has kept. */
    @Test
    void aWholeOfAnEarlierStepIsNotTaken() {
        List<ShardedFit> workers = workers(3);
        train(workers, 0, 0, 2, false);
        generation(workers, 0, (hvd, mine) -> {
            if (hvd.rank() == 2) {
                mine.stepWithoutCommit(hvd, 2);
            } else {
                mine.steps(hvd, 2, 3);
            }
        });
        workers.get(2).abandon();
        train(workers, 0, 3, 4, false);
    }

    @Test
    void aRankThatWasBehindGoesBackToItsOldShare() {
        List<ShardedFit> workers = workers(3);
        SortedMap<String, String> before = new TreeMap<>();
        losesOne(workers, before, (hvd, mine) -> mine.steps(hvd, 0, 4));
        ShardedFit behind = workers.get(1);
        List<Runnable> back = List.of(behind.plain.state.backup(), behind.shared.state.backup());
        String values = behind.shared.values();
        Map<String, Double> scaler = behind.shared.scaler();
        generation(workers, 0, (hvd, mine) -> mine.steps(hvd, 4, 5));
        assertThat(behind.shared.values()).isNotEqualTo(values);
        back.forEach(Runnable::run);
        behind.abandon();

        assertThat(behind.shared.values()).isEqualTo(values);
        assertThat(behind.shared.scaler()).isEqualTo(scaler);
        generation(List.of(behind), 0, (hvd, mine) -> {
            SortedMap<String, String> expected = new TreeMap<>(before);
            expected.keySet().retainAll(kind.ofRank1);
            assertThat(mine.shared.moments(hvd)).isEqualTo(expected);
            assertThat(mine.shared.state.news()).endsWith(ON_LOST_RANKS + "begins anew");
        });
    }
}
