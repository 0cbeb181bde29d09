package io.hvd.optimizer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.assertj.core.api.Assertions.within;

import io.hvd.Compression;
import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.ProcessSet;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.exchange.BucketReduction;
import io.hvd.optimizer.exchange.ReducedGradients;
import io.hvd.optimizer.reduce.GradientBucket;
import io.hvd.optimizer.reduce.GradientReducer;
import io.hvd.optimizer.reduce.Int8;
import io.hvd.optimizer.reduce.PowerSgd;
import io.hvd.optimizer.reduce.TopK;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Reducers of the program's own, good ones and bad ones. */
@Timeout(60)
class GradientReducerTest {
    private static final GradientReducer PLAIN =
            bucket -> bucket.average(bucket.byName()).thenApply(done -> bucket);

    private static Parameter parameter(String name, float... gradient) {
        return new Parameter(name, Tensor.of(gradient), Tensor.of(gradient));
    }

    private static DistributedOptimizerBuilder builder(GradientReducer reducer, Parameter... parameters) {
        return DistributedOptimizer.wrap(new RecordingOptimizer(List.of(parameters)))
                .reducer(reducer);
    }

    @Test
    void aReducerMakesTheAverages() {
        Hvd.spawn(3, hvd -> {
            Parameter a = parameter("a", hvd.rank(), 3);
            Parameter b = parameter("b", 10 * hvd.rank());
            DistributedOptimizer optimizer = builder(PLAIN, a, b).bucketBytes(1).build();
            optimizer.gradientReady("b");
            optimizer.step();

            assertThat(a.gradient().toFloatArray()).containsExactly(1, 3);
            assertThat(b.gradient().toFloatArray()).containsExactly(10);
            assertThat(optimizer.lastStep().bytes()).isEqualTo(12);
            assertThat(optimizer.lastStep().bytesSent()).isEqualTo(12);
            return null;
        });
    }

    @Test
    void aReducerMayReturnTensorsOfItsOwn() {
        Hvd.spawn(2, hvd -> {
            Parameter a = parameter("a", hvd.rank(), 3);
            builder(bucket -> CompletableFuture.completedFuture(bucket.with(List.of(Tensor.of(7, 8f)))), a)
                    .build()
                    .synchronize();
            assertThat(a.gradient().toFloatArray()).containsExactly(7, 8);
            return null;
        });
    }

    @Test
    void stepsAreCountedAndBucketsAndParametersNamed() {
        Hvd.spawn(2, hvd -> {
            List<String> seen = Collections.synchronizedList(new ArrayList<>());
            GradientReducer noting = bucket -> {
                seen.add(bucket.step() + " " + bucket.name() + " " + bucket.names());
                return PLAIN.reduce(bucket);
            };
            DistributedOptimizer optimizer = builder(noting, parameter("a", 1), parameter("b", 2))
                    .scope("mine")
                    .build();
            optimizer.step();
            optimizer.step();
            assertThat(seen).containsExactly("0 mine.bucket.0 [b, a]", "1 mine.bucket.0 [b, a]");
            return null;
        });
    }

    @Test
    void passesOfARankAreAveragedAndPassesInsideNoSyncAreKept() {
        Hvd.spawn(2, hvd -> {
            TinyNet reduced = new TinyNet(1);
            TinyNet expected = new TinyNet(1);
            List.of(reduced, expected).forEach(net -> {
                DistributedOptimizerBuilder builder = DistributedOptimizer.wrap(new Sgd(net.parameters, 0.1))
                        .scope(net == reduced ? "reduced" : "expected")
                        .backwardPassesPerStep(2)
                        .localReduction(LocalReduction.MEAN);
                DistributedOptimizer optimizer = (net == reduced ? builder.reducer(PLAIN) : builder).build();
                for (int step = 0; step < 3; step++) {
                    optimizer.zeroGradients();
                    try (var local = optimizer.noSync()) {
                        net.backward(50, 52);
                        TinyNet.names().forEach(optimizer::gradientReady);
                    }
                    for (int pass = 0; pass < 2; pass++) {
                        net.backward(10 * step + 4 * hvd.rank() + 2 * pass, 10 * step + 4 * hvd.rank() + 2 * pass + 2);
                        TinyNet.names().forEach(optimizer::gradientReady);
                    }
                    optimizer.step();
                }
            });
            Closeness.assertClose(reduced.weights(), expected.weights(), 1e-6);
            return null;
        });
    }

    @Test
    void bucketsMayComeInAnotherOrderOnEveryRank() {
        Hvd.spawn(4, hvd -> {
            Random random = new Random(hvd.rank());
            TinyNet net = new TinyNet(3);
            DistributedOptimizer optimizer = DistributedOptimizer.wrap(new Sgd(net.parameters, 0.05))
                    .bucketBytes(1)
                    .reducer(new PowerSgd(PowerSgd.Settings.ofRank(1).startingAt(2)))
                    .compareParametersEvery(1)
                    .build();
            for (int step = 0; step < 30; step++) {
                optimizer.zeroGradients();
                net.backward(4 * hvd.rank(), 4 * hvd.rank() + 4);
                List<String> order = new ArrayList<>(TinyNet.names());
                Collections.shuffle(order, random);
                order.forEach(optimizer::gradientReady);
                optimizer.step();
            }
            return null;
        });
    }

    static Stream<Arguments> misbehaviour() {
        return Stream.of(
                bad("returns null", bucket -> null, "has returned null, expected a future"),
                bad("completes with null", bucket -> CompletableFuture.completedFuture(null), "with null"),
                bad("drops a tensor", bucket -> done(bucket.with(List.of(Tensor.of(1, 2f)))), "1 tensors, expected 2"),
                bad(
                        "changes a shape",
                        bucket -> done(bucket.with(List.of(Tensor.of(1f), Tensor.of(1, 2, 3f)))),
                        "\"a\", expected float32[2]",
                        "float32[3]"),
                bad(
                        "changes a type",
                        bucket -> done(bucket.with(List.of(Tensor.of(1), Tensor.of(1, 2f)))),
                        "int32[1]",
                        "\"b\", expected float32[1]"),
                bad(
                        "throws",
                        bucket -> {
                            throw new IllegalStateException("no more bits");
                        },
                        "has thrown java.lang.IllegalStateException: no more bits"),
                bad(
                        "cancels",
                        bucket -> {
                            CompletableFuture<GradientBucket> future = new CompletableFuture<>();
                            future.cancel(false);
                            return future;
                        },
                        "has cancelled its future"),
                bad(
                        "throws later",
                        bucket -> bucket.average("x", Tensor.of(1f)).thenApply(done -> {
                            throw new StackOverflowError("deep");
                        }),
                        "has thrown java.lang.StackOverflowError: deep"));
    }

    private static CompletableFuture<GradientBucket> done(GradientBucket bucket) {
        return CompletableFuture.completedFuture(bucket);
    }

    private static Arguments bad(String how, GradientReducer reducer, String... facts) {
        return Arguments.of(how, reducer, facts);
    }

    /** It misbehaves in the first step; the second one shows that nothing is left over. */
    @ParameterizedTest(name = "a reducer that {0}")
    @MethodSource("misbehaviour")
    void isNamedWithItsBucketAndTheNextStepGoesOn(String how, GradientReducer reducer, String[] facts) {
        Hvd.spawn(2, hvd -> {
            Parameter a = parameter("a", hvd.rank(), 3);
            Parameter b = parameter("b", hvd.rank());
            DistributedOptimizer optimizer = builder(
                            bucket -> (bucket.step() == 0 ? reducer : PLAIN).reduce(bucket), a, b)
                    .build();
            HvdException error = catchThrowableOfType(HvdException.class, optimizer::step);
            assertThat(error.id()).isEqualTo(ErrorId.OPTIMIZER_MISUSE);
            assertThat(error)
                    .hasMessageContainingAll(facts)
                    .hasMessageContainingAll(
                            "GradientReducerTest's lambda",
                            "bucket \"gradient.bucket.0\"",
                            "[b, a]",
                            "on rank " + hvd.rank() + " of 2");

            optimizer.step();
            assertThat(b.gradient().toFloatArray()).containsExactly(0.5f);
            return null;
        });
    }

    @Test
    void aCollectiveThatFailsIsThrownAsItself() {
        Hvd.spawn(2, hvd -> {
            GradientReducer unlike = bucket ->
                    bucket.average("x", Tensor.of(new float[1 + hvd.rank()])).thenApply(done -> bucket);
            DistributedOptimizer optimizer =
                    builder(unlike, parameter("a", 1)).settingsMayDiffer().build();
            assertThatThrownBy(optimizer::step)
                    .isInstanceOfSatisfying(
                            HvdException.class, e -> assertThat(e.id()).isEqualTo(ErrorId.RANK_MISMATCH))
                    .hasMessageContainingAll("gradient.bucket.0.x", "[1]", "[2]");
            return null;
        });
    }

    @Test
    void aFutureThatNeverCompletesIsNamedWhenItsTimeIsUp() {
        Hvd.spawn(2, hvd -> {
            BucketReduction bucket = new ReducedGradients(
                            hvd,
                            never -> new CompletableFuture<>(),
                            LocalReduction.SUM,
                            "gradient.",
                            Duration.ofMillis(20),
                            Duration.ofMillis(50))
                    .prepare(3, List.of(parameter("w", 1)), 1);
            bucket.start(0);
            assertThatThrownBy(bucket::await)
                    .isInstanceOf(HvdException.class)
                    .hasMessageContainingAll(
                            "GradientReducerTest",
                            "\"gradient.bucket.3\"",
                            "[w]",
                            "has not completed its future within 0.05 s",
                            "no collective of it is in flight");
            return null;
        });
    }

    private static BucketReduction bucket(ProcessSet set, GradientReducer reducer, Duration limit, Parameter of) {
        return new ReducedGradients(set, reducer, LocalReduction.SUM, "gradient.", Duration.ofMillis(20), limit)
                .prepare(0, List.of(of), 1);
    }

    /** What is given up may write into gradients later; the step beside which it has ended is refused too. */
    @Test
    void aReducerThatWasGivenUpHasItsNextStepsRefusedUntilItHasEnded() {
        Hvd.spawn(1, hvd -> {
            Parameter w = parameter("w", 1);
            CompletableFuture<GradientBucket> slow = new CompletableFuture<>();
            List<GradientBucket> seen = new ArrayList<>();
            BucketReduction bucket = bucket(
                    hvd,
                    each -> {
                        seen.add(each);
                        return seen.size() == 1 ? slow : PLAIN.reduce(each);
                    },
                    Duration.ofSeconds(1),
                    w);
            bucket.start(0);
            assertThatThrownBy(bucket::await).hasMessageContaining("within 1.0 s");
            bucket.start(1);
            assertThatThrownBy(bucket::await)
                    .isInstanceOfSatisfying(
                            HvdException.class, e -> assertThat(e.id()).isEqualTo(ErrorId.OPTIMIZER_MISUSE))
                    .hasMessageContainingAll("\"gradient.bucket.0\"", "earlier step", "still at work");

            slow.complete(seen.get(0));
            bucket.start(2);
            assertThatThrownBy(bucket::await).hasMessageContainingAll("has ended since", "the next step goes on");
            assertThat(seen).hasSize(1);
            bucket.start(3);
            bucket.await();
            assertThat(seen).hasSize(2);
            return null;
        });
    }

    /** After a join the ranks agree on their steps; that another rank is late there is not the reducer's fault. */
    @Test
    void aRankThatIsLateWhereTheStepsAreCountedIsNotTakenForASlowReducer() {
        Hvd.spawn(2, hvd -> {
            Parameter w = parameter("w", 1 + 2 * hvd.rank());
            BucketReduction bucket = bucket(hvd, PLAIN, Duration.ofSeconds(1), w);
            hvd.join();
            if (hvd.rank() == 1) {
                Thread.sleep(2000);
            }
            bucket.start(0);
            bucket.await();
            assertThat(w.gradient().toFloatArray()).containsExactly(2);
            return null;
        });
    }

    static Stream<Arguments> contradictions() {
        return Stream.of(
                contradiction(builder -> builder.op(ReduceOp.SUM), "found SUM"),
                contradiction(builder -> builder.compression(Compression.FP16), "compression FP16"),
                contradiction(builder -> builder.gradientPredivideFactor(2), "gradientPredivideFactor 2.0"),
                contradiction(builder -> builder.allreduceAlwaysFp32(parameter -> true), "allreduceAlwaysFp32"),
                contradiction(builder -> builder.op(ReduceOp.ADASUM), "ADASUM", "TopK"));
    }

    private static Arguments contradiction(UnaryOperator<DistributedOptimizerBuilder> how, String... facts) {
        return Arguments.of(how, facts);
    }

    @ParameterizedTest
    @MethodSource("contradictions")
    void whatAReducerDoesItselfIsRefusedBesideIt(UnaryOperator<DistributedOptimizerBuilder> how, String[] facts) {
        Hvd.spawn(2, hvd -> {
            assertThatThrownBy(() ->
                            how.apply(builder(new TopK(0.1), parameter("a", 1))).build())
                    .isInstanceOfSatisfying(
                            HvdException.class, e -> assertThat(e.id()).isEqualTo(ErrorId.OPTIMIZER_MISUSE))
                    .hasMessageContainingAll("TopK of 0.1")
                    .hasMessageContainingAll(facts);
            return null;
        });
    }

    @Test
    void ranksWithOtherReducersAreNamedInTheFirstStep() {
        Hvd.spawn(2, hvd -> {
            DistributedOptimizer optimizer = builder(new TopK(hvd.rank() == 0 ? 0.1 : 0.2), parameter("a", 1))
                    .build();
            assertThatThrownBy(optimizer::step)
                    .hasMessageContaining("\"reducer\" is TopK of 0.1 on ranks [0] and TopK of 0.2 on ranks [1]");
            return null;
        });
    }

    @Test
    void aReducerWithAMemoryBelongsToOneOptimizer() {
        Hvd.spawn(2, hvd -> {
            TopK shared = new TopK(0.1);
            builder(shared, parameter("a", 1)).scope("first").build().synchronize();
            DistributedOptimizer second =
                    builder(shared, parameter("a", 1)).scope("second").build();
            assertThatThrownBy(second::synchronize).hasMessageContainingAll("TopK", "first", "second.bucket.0");
            return null;
        });
    }

    /** Rank 1 has two steps fewer, so that the ranks would not agree when the compression starts. */
    @Test
    void ranksThatHaveJoinedCountTheStepsOfTheOthers() {
        Hvd.spawn(3, hvd -> {
            TinyNet net = new TinyNet(3);
            PowerSgd reducer = new PowerSgd(PowerSgd.Settings.ofRank(1).startingAt(5));
            DistributedOptimizer optimizer = DistributedOptimizer.wrap(new Sgd(net.parameters, 0.05))
                    .reducer(reducer)
                    .build();
            steps(hvd, net, optimizer, hvd.rank() == 1 ? 2 : 4);
            hvd.join();
            optimizer.broadcastParameters(0);
            steps(hvd, net, optimizer, 3);
            return null;
        });
    }

    private static void steps(HvdContext hvd, TinyNet net, DistributedOptimizer optimizer, int count) {
        for (int step = 0; step < count; step++) {
            optimizer.zeroGradients();
            net.backward(4 * hvd.rank(), 4 * hvd.rank() + 4);
            optimizer.step();
        }
    }

    @Test
    void sharedOutStateGoesWithAReducer() {
        Hvd.spawn(2, hvd -> {
            TinyNet whole = new TinyNet(3);
            TinyNet shared = new TinyNet(3);
            DistributedOptimizer plain = DistributedOptimizer.wrap(new Sgd(whole.parameters, 0.05, 0.9, 0))
                    .scope("plain")
                    .reducer(new TopK(0.2))
                    .build();
            DistributedOptimizer sharded = DistributedOptimizer.wrap(
                            ShardedOptimizer.ofArrays(hvd, shared.parameters, share -> new Sgd(share, 0.05, 0.9, 0)))
                    .reducer(new TopK(0.2))
                    .build();
            steps(hvd, whole, plain, 5);
            steps(hvd, shared, sharded, 5);
            assertThat(shared.weights()).isEqualTo(whole.weights());
            return null;
        });
    }

    @Test
    void anotherStateDropsWhatWasLeftOut() {
        Hvd.spawn(2, hvd -> {
            TinyNet net = new TinyNet(3);
            TopK reducer = new TopK(0.2);
            DistributedOptimizer optimizer = DistributedOptimizer.wrap(new Sgd(net.parameters, 0.05))
                    .reducer(reducer)
                    .build();
            steps(hvd, net, optimizer, 2);
            assertThat(reducer.leftOut("w1")).hasSize(20);
            assertThat(reducer.stateBytes()).as("w1, b1 and w2").isEqualTo(4 * (20 + 4 + 4));
            optimizer.loadState(optimizer.saveState());
            assertThat(reducer.leftOut("w1")).isEmpty();
            assertThat(reducer.stateBytes()).isZero();
            steps(hvd, net, optimizer, 1);
            return null;
        });
    }

    @Test
    void anOverflowOfOneRankSkipsTheStepOfAllAndTheNextOneIsMade() {
        Hvd.spawn(2, hvd -> {
            for (GradientReducer reducer : List.of(new PowerSgd(settingsFromTheStart()), new TopK(0.1), new Int8())) {
                float[] w = new float[144];
                float[] gradient = new float[144];
                DistributedOptimizer optimizer = DistributedOptimizer.wrap(
                                new Sgd(new ArrayParameters().add("w", w, gradient, Shape.of(12, 12)), 1))
                        .reducer(reducer)
                        .build();
                AmpOptimizer amp =
                        AmpOptimizer.wrap(optimizer).scaler(new GradScaler()).build();
                for (float size : new float[] {hvd.rank() == 1 ? Float.NaN : 1, 1}) {
                    amp.zeroGradients();
                    amp.backward(scale -> Arrays.fill(gradient, (float) (size * scale)));
                    amp.step();
                    assertThat(amp.stepped()).as(reducer.settings()).isEqualTo(amp.skippedSteps() == 1 && w[0] != 0);
                }
                assertThat(amp.skippedSteps()).isEqualTo(1);
                assertThat(w[0]).as(reducer.settings()).isEqualTo(-1, within(1e-3f));
            }
            return null;
        });
    }

    private static PowerSgd.Settings settingsFromTheStart() {
        return PowerSgd.Settings.ofRank(1).startingAt(0);
    }

    @Test
    void oneRankAloneCompressesNothing() {
        Hvd.spawn(1, hvd -> {
            Parameter a = parameter("a", 1, 2, 3);
            builder(bucket -> null, a).build().step();
            assertThat(a.gradient().toFloatArray()).containsExactly(1, 2, 3);
            return null;
        });
    }
}
