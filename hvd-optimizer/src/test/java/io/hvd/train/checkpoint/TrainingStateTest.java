package io.hvd.train.checkpoint;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.Elastic;
import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.InitOptions;
import io.hvd.ObjectCodec;
import io.hvd.ProcessSet;
import io.hvd.data.ElasticSampler;
import io.hvd.data.LoadBalancingDistributedSampler;
import io.hvd.data.ResumableSampler;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.ArrayParameters;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.optimizer.DistributedOptimizerBuilder;
import io.hvd.optimizer.Optimizer;
import io.hvd.optimizer.Sgd;
import io.hvd.optimizer.ShardedOptimizer;
import io.hvd.tensor.ReduceOp;
import io.hvd.train.Training;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The generations of a job are jobs of threads, one after the other; workers live through several of them. */
@Timeout(120)
class TrainingStateTest {
    /** A worker that has trained alone for some steps. */
    private static ElasticFit alone(int number, int steps) {
        ElasticFit fit = new ElasticFit(1.5f + number, 1);
        Hvd.spawn(1, hvd -> {
            fit.state.sync(hvd, 0);
            try (var loader = fit.loader()) {
                var pass = loader.iterator();
                for (int step = 0; step < steps; step++) {
                    fit.state.optimizer().zeroGradients();
                    fit.backward(pass.next());
                    fit.state.optimizer().step();
                }
            }
            fit.state.optimizer().learningRate(0.01 / (number + 3));
            fit.best = Long.MIN_VALUE + number;
            fit.share = Math.nextUp(0.1 * number);
            fit.word = "line " + number + "\nwith = and \t signs: ä";
            fit.list = List.of(number, 7);
            fit.state.committed();
            return null;
        });
        return fit;
    }

    @Test
    void allRanksTakeTheRootsStateToTheLastBit() {
        for (int root = 0; root < 3; root++) {
            int from = root;
            List<ElasticFit> workers =
                    IntStream.range(0, 3).mapToObj(i -> alone(i, 2 * i + 1)).toList();
            List<Object> expected = workers.get(root).bits();
            assertThat(workers.get((root + 1) % 3).bits()).isNotEqualTo(expected);

            Hvd.spawn(3, hvd -> {
                workers.get(hvd.rank()).state.sync(hvd, from);
                return null;
            });
            assertThat(workers).extracting(ElasticFit::bits).containsOnly(expected);
        }
    }

    @Test
    void aCopyGivesBackWhatASyncHasOverwrittenToTheLastBit() {
        List<ElasticFit> workers = List.of(alone(0, 2), alone(1, 5));
        List<Object> before = workers.get(0).bits();
        Runnable back = workers.get(0).state.backup();
        Hvd.spawn(2, hvd -> {
            workers.get(hvd.rank()).state.sync(hvd, 1);
            return null;
        });
        assertThat(workers.get(0).bits()).isEqualTo(workers.get(1).bits()).isNotEqualTo(before);

        back.run();
        assertThat(workers.get(0).bits()).isEqualTo(before);
    }

    /** Its root is lost before it has sent anything but the words. */
    @Test
    void aSyncThatFailsLeavesTheLastCommitToGoBackTo() {
        List<ElasticFit> workers = List.of(alone(0, 2), alone(1, 5));
        List<Object> before = workers.get(0).bits();
        assertThatThrownBy(() -> Hvd.spawn(2, hvd -> {
                    if (hvd.rank() == 1) {
                        hvd.broadcastObject(
                                "training.words", workers.get(1).state.words().encode(), ObjectCodec.utf8(), 1);
                        throw new IllegalStateException("the root is lost");
                    }
                    Runnable back = workers.get(0).state.backup();
                    assertThatThrownBy(() -> workers.get(0).state.sync(hvd, 1)).isInstanceOf(HvdException.class);
                    back.run();
                    return null;
                }))
                .hasStackTraceContaining("the root is lost");
        workers.get(0).state.abandoned();

        assertThat(workers.get(0).bits()).isEqualTo(before);
        Hvd.spawn(1, hvd -> {
            workers.get(0).state.sync(hvd, 0);
            return null;
        });
        assertThat(workers.get(0).bits()).isEqualTo(before);
    }

    /**
     * Rank 2 is lost in a step of the second epoch for which all have drawn their samples, and some have sent their gradients; later a new
     * worker comes.
     */
    private static Stream<Supplier<ResumableSampler>> samplers() {
        long[] lengths = LongStream.range(0, ElasticFit.POINTS)
                .map(point -> point * point % 17)
                .toArray();
        return Stream.of(
                () -> ElasticSampler.builder(ElasticFit.POINTS).seed(5).build(),
                () -> LoadBalancingDistributedSampler.builder(lengths).seed(5).build());
    }

    @ParameterizedTest
    @MethodSource("samplers")
    void everySampleOfEachEpochIsInOneCommittedStep(Supplier<ResumableSampler> sampler) {
        for (int passes = 1; passes <= 2; passes++) {
            List<ElasticFit> workers = new ArrayList<>();
            for (int i = 0; i < 3; i++) {
                workers.add(new ElasticFit(i, passes, sampler.get()));
            }
            int atBatch = 7 + passes; // the last one of a step
            losesRank2(workers, 2, passes, atBatch);
            workers.get(0).state.abandoned();
            workers.get(1).state.abandoned();

            List<ElasticFit> next = new ArrayList<>(workers.subList(0, 2));
            long again = ElasticFit.BATCH * 3L * passes;
            AtomicReferenceArray<Training> ends = generation(next, 2, passes);
            assertThat(next).extracting(fit -> fit.state.samplesDrawnAgain()).containsOnly(again);
            assertThat(next.get(0).state.news())
                    .isEqualTo(", " + again + " samples of the abandoned step are drawn again");
            assertThat(next.get(0).bits()).isEqualTo(next.get(1).bits());
            assertThat(ends.get(0).epoch()).isEqualTo(2);
            // Both have their samples of before the loss in the epoch's metric; those of rank 2 are gone with it.
            long before = 8L * ElasticFit.BATCH;
            assertThat(ends.get(0).result("samples").samples()).isEqualTo(ElasticFit.POINTS - before);
            assertThat(next.get(0).places).isSorted().doesNotHaveDuplicates();

            next.add(new ElasticFit(9, passes, sampler.get()));
            ends = generation(next, 3, passes);
            assertThat(next.get(2).bits())
                    .isEqualTo(next.get(0).bits())
                    .isEqualTo(next.get(1).bits());
            assertThat(next).extracting(fit -> fit.state.samplesDrawnAgain()).containsOnly(0L);
            assertThat(ends.get(2).steps()).isEqualTo(ends.get(0).steps());

            List<Integer> all = new ArrayList<>();
            Stream.concat(workers.stream(), Stream.of(next.get(2))).forEach(fit -> all.addAll(fit.seen));
            List<Integer> expected = new ArrayList<>();
            for (int epoch = 0; epoch < 3; epoch++) {
                IntStream.range(0, ElasticFit.POINTS).forEach(expected::add);
            }
            Collections.sort(all);
            Collections.sort(expected);
            assertThat(all).isEqualTo(expected);
        }
    }

    private static void losesRank2(List<ElasticFit> workers, int epochs, int passes, int atBatch) {
        CountDownLatch others = new CountDownLatch(2);
        assertThatThrownBy(() -> Hvd.spawn(3, hvd -> {
                    ElasticFit mine = workers.get(hvd.rank());
                    Elastic.Body body = elastic -> mine.train(elastic, epochs, passes, training -> {
                        if (training.epoch() != 1 || training.batch() != atBatch) {
                            return;
                        }
                        if (hvd.rank() != 2) {
                            others.countDown();
                            return;
                        }
                        awaitAll(others);
                        throw new IllegalStateException("rank 2 is lost");
                    });
                    if (hvd.rank() == 2) {
                        Elastic.run(hvd, mine.state, body);
                    } else {
                        assertThatThrownBy(() -> Elastic.run(hvd, mine.state, body))
                                .isInstanceOf(HvdException.class);
                    }
                    return null;
                }))
                .hasStackTraceContaining("rank 2 is lost");
    }

    private static void awaitAll(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private static AtomicReferenceArray<Training> generation(List<ElasticFit> workers, int epochs, int passes) {
        AtomicReferenceArray<Training> ends = new AtomicReferenceArray<>(workers.size());
        Hvd.spawn(workers.size(), hvd -> {
            ElasticFit mine = workers.get(hvd.rank());
            Elastic.run(
                    hvd,
                    mine.state,
                    elastic -> ends.set(hvd.rank(), mine.train(elastic, epochs, passes, training -> {})));
            return null;
        });
        return ends;
    }

    private static void refused(Function<HvdContext, DistributedOptimizerBuilder> choose, String... words) {
        assertThatThrownBy(() -> Hvd.spawn(2, InitOptions.standard().withDynamicProcessSets(), hvd -> {
                    TrainingState.of(ranks -> choose.apply(ranks).build())
                            .build()
                            .sync(hvd, 0);
                    return null;
                }))
                .hasRootCauseInstanceOf(HvdException.class)
                .satisfies(e -> assertThat(root(e).id()).isEqualTo(ErrorId.UNSUPPORTED))
                .rootCause()
                .hasMessageContainingAll(words);
    }

    private static ArrayParameters twoArrays() {
        return new ArrayParameters().add("w", new float[3], new float[3]).add("b", new float[2], new float[2]);
    }

    private static HvdException root(Throwable e) {
        return e.getCause() == null ? (HvdException) e : root(e.getCause());
    }

    @Test
    void aStateThatARankWouldTakeWithItIsRefusedBeforeTheFirstStep() {
        refused(
                hvd -> DistributedOptimizer.wrap(new Sgd(twoArrays(), 0.1)).localParameters(List.of("b")),
                "localParameters",
                "[b]");
        refused(
                hvd -> DistributedOptimizer.wrap(new Sgd(twoArrays(), 0.1)).op(ReduceOp.ADASUM),
                "op(ADASUM)",
                "not elastic");
    }

    @Test
    void aStateThatIsSharedOutToSomeRanksOnlyIsRefused() {
        refused(
                hvd -> {
                    ProcessSet one = hvd.addProcessSet(List.of(1));
                    return DistributedOptimizer.wrap(
                                    ShardedOptimizer.ofArrays(one, twoArrays(), share -> new Sgd(share, 0.1)))
                            .processSet(one);
                },
                "ShardedOptimizer over the ranks [1] of 2",
                "TrainingState.of(hvd -> ...)");
    }

    @Test
    void aFieldOfAnotherTypeNeedsACodec() {
        assertThatThrownBy(() -> TrainingState.of(hvd -> (Optimizer) null).field("list", () -> List.of(1), value -> {}))
                .isInstanceOf(HvdException.class)
                .hasMessageContainingAll("field(\"list\"", "ObjectCodec");
    }
}
