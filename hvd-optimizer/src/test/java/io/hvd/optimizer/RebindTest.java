package io.hvd.optimizer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.AllreduceOptions;
import io.hvd.Compression;
import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.PreparedAllreduce;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.error.NotInitialisedException;
import io.hvd.error.ShutdownException;
import io.hvd.optimizer.reduce.TopK;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Tensor;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.function.UnaryOperator;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** An optimizer goes on in the context of the next generation. */
@Timeout(60)
class RebindTest {
    private static final int STEPS = 4;

    /** What one rank trains: two arrays whose gradients depend on the rank and the step. */
    private static final class Trainer {
        final float[] w = {1, -2, 3};
        final float[] b = {0.5f};
        final float[] wGradient = new float[3];
        final float[] bGradient = new float[1];
        final DistributedOptimizer optimizer;
        int step;

        Trainer(UnaryOperator<DistributedOptimizerBuilder> choose) {
            var arrays = new ArrayParameters().add("w", w, wGradient).add("b", b, bGradient);
            optimizer = choose.apply(DistributedOptimizer.wrap(new Sgd(arrays, 0.1, 0.9, 0.01)))
                    .build();
        }

        void backward(int rank) {
            for (int i = 0; i < w.length; i++) {
                wGradient[i] += (float) Math.sin(step + 3 * rank + i) + w[i] / 7;
            }
            bGradient[0] += step - rank;
            optimizer.gradientReady("b");
        }

        void steps(int rank, int count) {
            for (int i = 0; i < count; i++) {
                optimizer.zeroGradients();
                backward(rank);
                optimizer.step();
                step++;
            }
        }

        List<Float> weights() {
            return List.of(w[0], w[1], w[2], b[0]);
        }
    }

    private static void goesOn(int ranks, UnaryOperator<DistributedOptimizerBuilder> choose) {
        AtomicReferenceArray<Trainer> broken = new AtomicReferenceArray<>(ranks);
        AtomicReferenceArray<List<Float>> whole = new AtomicReferenceArray<>(ranks);
        Hvd.spawn(ranks, hvd -> {
            Trainer unbroken = new Trainer(choose);
            unbroken.steps(hvd.rank(), 2 * STEPS);
            whole.set(hvd.rank(), unbroken.weights());
            unbroken.optimizer.close();
            return null;
        });
        Hvd.spawn(ranks, hvd -> {
            Trainer first = new Trainer(choose);
            first.steps(hvd.rank(), STEPS);
            broken.set(hvd.rank(), first);
            return null;
        });
        Hvd.spawn(ranks, hvd -> {
            Trainer again = broken.get(hvd.rank());
            again.optimizer.rebind(hvd);
            again.steps(hvd.rank(), STEPS);
            assertThat(again.weights()).isEqualTo(whole.get(hvd.rank()));
            assertThat(again.optimizer.stepsMade()).isEqualTo(2L * STEPS);
            again.optimizer.close();
            return null;
        });
    }

    @Test
    void theWeightsAreThoseOfATrainingWithoutABreakToTheLastBit() {
        for (int ranks = 1; ranks <= 3; ranks++) {
            goesOn(ranks, builder -> builder);
        }
    }

    @Test
    void compressionClippingAndNamedScopesComeAlong() {
        goesOn(
                2,
                builder -> builder.compression(Compression.FP16)
                        .clipGradientNorm(0.5)
                        .scope("net"));
        goesOn(2, builder -> builder.numGroups(2).bucketBytes(0));
    }

    @Test
    void localParametersStayLocal() {
        goesOn(2, builder -> builder.localParameters(List.of("b")));
    }

    @Test
    void aReducerKeepsWhatItHasLeftOut() {
        goesOn(2, builder -> builder.reducer(new TopK(0.5)));
    }

    @Test
    void adasumGoesOn() {
        goesOn(2, builder -> builder.op(ReduceOp.ADASUM));
    }

    @Test
    void aProcessHasOneLifeAfterTheOther() {
        Trainer unbroken;
        try (HvdContext hvd = Hvd.init()) {
            unbroken = new Trainer(builder -> builder);
            unbroken.steps(hvd.rank(), 3 * STEPS);
        }
        Hvd.init();
        Trainer trainer = new Trainer(builder -> builder);
        trainer.steps(0, STEPS);
        for (int life = 0; life < 2; life++) {
            Hvd.shutdown();
            trainer.optimizer.rebind(Hvd.init());
            trainer.steps(0, STEPS);
        }
        Hvd.shutdown();
        assertThat(trainer.weights()).isEqualTo(unbroken.weights());
    }

    @Test
    void aLossScaleAndTheStepsOnlyThroughItsOptimizerComeAlong() {
        List<AmpOptimizer> amps = new ArrayList<>(Arrays.asList(null, null));
        List<Trainer> trainers = new ArrayList<>(Arrays.asList(null, null));
        Hvd.spawn(2, hvd -> {
            Trainer trainer = new Trainer(builder -> builder);
            trainers.set(hvd.rank(), trainer);
            amps.set(hvd.rank(), AmpOptimizer.wrap(trainer.optimizer).build());
            scaledStep(amps.get(hvd.rank()), trainer, hvd.rank());
            return null;
        });
        Hvd.spawn(2, hvd -> {
            amps.get(hvd.rank()).rebind(hvd);
            scaledStep(amps.get(hvd.rank()), trainers.get(hvd.rank()), hvd.rank());
            refused(trainers.get(hvd.rank()).optimizer::step, "Call AmpOptimizer.step()");
            assertThat(amps.get(hvd.rank()).scaler().growthTracker()).isEqualTo(2);
            return null;
        });
    }

    private static void scaledStep(AmpOptimizer amp, Trainer trainer, int rank) {
        amp.zeroGradients();
        amp.backward(scale -> {
            Arrays.fill(trainer.wGradient, (float) scale * (1 + rank));
            Arrays.fill(trainer.bGradient, (float) scale);
        });
        amp.step();
        assertThat(amp.stepped()).isTrue();
    }

    private static void refused(ThrowingCallable call, String... words) {
        assertThatThrownBy(call)
                .isInstanceOfSatisfying(
                        HvdException.class, e -> assertThat(e.id()).isEqualTo(ErrorId.OPTIMIZER_MISUSE))
                .hasMessageContainingAll(words);
    }

    @Test
    void theContextThatItHasAndOneThatIsClosedAreRefused() {
        HvdContext first = Hvd.init();
        Trainer trainer = new Trainer(builder -> builder);
        refused(() -> trainer.optimizer.rebind(first), "rebind(", "bound to this context already");
        Hvd.shutdown();
        HvdContext second = Hvd.init();
        Hvd.shutdown();
        refused(() -> trainer.optimizer.rebind(second), "has been closed", "next Hvd.init()");
        try (HvdContext third = Hvd.init()) {
            trainer.optimizer.rebind(third);
            trainer.steps(0, 1);
            trainer.optimizer.close();
            refused(() -> trainer.optimizer.rebind(third), "after close()");
        }
    }

    @Test
    void gradientsUnderWayAreGivenUpByZeroGradientsOnly() {
        List<Trainer> trainers = new ArrayList<>(Arrays.asList(null, null));
        Hvd.spawn(2, hvd -> {
            Trainer trainer = new Trainer(builder -> builder);
            trainers.set(hvd.rank(), trainer);
            trainer.steps(hvd.rank(), 1);
            trainer.backward(hvd.rank());
            return null;
        });
        Hvd.spawn(2, hvd -> {
            Trainer trainer = trainers.get(hvd.rank());
            refused(() -> trainer.optimizer.rebind(hvd), "between backward and step()", "zeroGradients() first");
            trainer.optimizer.zeroGradients();
            trainer.optimizer.rebind(hvd);
            trainer.steps(hvd.rank(), STEPS);
            return null;
        });
    }

    @Test
    void aScopeOfNoSyncIsClosedFirst() {
        Trainer trainer;
        DistributedOptimizer.NoSync local;
        try (HvdContext hvd = Hvd.init()) {
            trainer = new Trainer(builder -> builder);
            local = trainer.optimizer.noSync();
            trainer.backward(hvd.rank());
        }
        try (HvdContext hvd = Hvd.init()) {
            refused(() -> trainer.optimizer.rebind(hvd), "inside noSync()", "close its scope first");
            local.close();
            trainer.optimizer.zeroGradients();
            trainer.optimizer.rebind(hvd);
            trainer.steps(0, 1);
        }
    }

    /** When rank 1 fails, it owes rank 0 an answer about the range of their gradients. */
    @Test
    void afterAJobThatHasFailedTheOptimizerGoesOnInTheNextOne() {
        List<Trainer> trainers = new ArrayList<>(Arrays.asList(null, null));
        CountDownLatch stepped = new CountDownLatch(1);
        assertThatThrownBy(() -> Hvd.spawn(2, hvd -> {
                    Trainer trainer = new Trainer(
                            builder -> builder.compression(Compression.FP16).rangeControl(RangeControl.every(1)));
                    trainers.set(hvd.rank(), trainer);
                    trainer.steps(hvd.rank(), 1);
                    trainer.optimizer.zeroGradients();
                    trainer.backward(hvd.rank());
                    if (hvd.rank() == 1) {
                        trainer.optimizer.gradientReady("w");
                        stepped.await();
                        throw new IllegalStateException("rank 1 fails");
                    }
                    trainer.optimizer.step();
                    stepped.countDown();
                    return null;
                }))
                .hasStackTraceContaining("rank 1 fails");
        Hvd.spawn(2, hvd -> {
            Trainer trainer = trainers.get(hvd.rank());
            trainer.optimizer.zeroGradients();
            trainer.optimizer.rebind(hvd);
            trainer.optimizer.broadcastParameters(0);
            trainer.optimizer.broadcastOptimizerState(0);
            trainer.step = 2;
            trainer.steps(hvd.rank(), STEPS);
            return null;
        });
        assertThat(trainers.get(1).weights()).isEqualTo(trainers.get(0).weights());
    }

    /** An elastic job would make the step once more, with the same samples, if it did not count. */
    @Test
    void aStepCountsWhoseParametersHaveChangedBeforeARankWasLost() {
        AtomicBoolean counted = new AtomicBoolean();
        assertThatThrownBy(() -> Hvd.spawn(2, hvd -> {
                    float[] w = {1};
                    var arrays = new ArrayParameters().add("w", w, new float[] {1});
                    Optimizer sgd = new Sgd(arrays, 0.5);
                    var optimizer = DistributedOptimizer.wrap(hvd.rank() == 0 ? sgd : new LostInStep(sgd))
                            .compareParametersEvery(1)
                            .build();
                    optimizer.step();
                    assertThat(w[0]).isEqualTo(0.5f);
                    assertThatThrownBy(hvd::barrier).isInstanceOf(ShutdownException.class);
                    counted.set(true);
                    return null;
                }))
                .hasStackTraceContaining("rank 1 is lost");
        assertThat(counted).isTrue();
    }

    /** Has averaged its gradients with the others, and moves no parameter. */
    private record LostInStep(Optimizer inner) implements Optimizer {
        @Override
        public List<Parameter> parameters() {
            return inner.parameters();
        }

        @Override
        public void step() {
            throw new IllegalStateException("rank 1 is lost");
        }

        @Override
        public void zeroGradients() {
            inner.zeroGradients();
        }

        @Override
        public double learningRate() {
            return inner.learningRate();
        }

        @Override
        public void learningRate(double rate) {
            inner.learningRate(rate);
        }

        @Override
        public Map<String, String> settings() {
            return inner.settings();
        }

        @Override
        public byte[] saveState() {
            return inner.saveState();
        }

        @Override
        public void loadState(byte[] state) {
            inner.loadState(state);
        }
    }

    /** The context is still open where the program learns of the failure. */
    @Test
    void zeroGradientsGivesUpWhatAFailedJobHasUnderWay() {
        AtomicBoolean given = new AtomicBoolean();
        assertThatThrownBy(() -> Hvd.spawn(2, hvd -> {
                    Trainer trainer = new Trainer(builder -> builder.bucketBytes(4));
                    trainer.steps(hvd.rank(), 1);
                    if (hvd.rank() == 1) {
                        throw new IllegalStateException("rank 1 fails");
                    }
                    trainer.optimizer.zeroGradients();
                    assertThatThrownBy(() -> {
                                trainer.backward(0);
                                hvd.barrier();
                            })
                            .isInstanceOf(HvdException.class);
                    trainer.optimizer.zeroGradients();
                    given.set(true);
                    return null;
                }))
                .hasStackTraceContaining("rank 1 fails");
        assertThat(given).isTrue();
    }

    @Test
    void ranksWhoseParametersDifferAreToldInTheFirstStepOfTheGeneration() {
        List<Trainer> trainers = new ArrayList<>(Arrays.asList(null, null));
        Hvd.spawn(2, hvd -> {
            Trainer trainer = new Trainer(builder -> builder);
            trainers.set(hvd.rank(), trainer);
            trainer.steps(hvd.rank(), 1);
            return null;
        });
        trainers.get(1).w[2]++;
        Hvd.spawn(2, hvd -> {
            Trainer trainer = trainers.get(hvd.rank());
            trainer.optimizer.rebind(hvd);
            assertThatThrownBy(() -> trainer.steps(hvd.rank(), 1))
                    .isInstanceOfSatisfying(
                            HvdException.class, e -> assertThat(e.id()).isEqualTo(ErrorId.DIVERGED))
                    .hasMessageContainingAll("\"w\"", "broadcastParameters(0)");
            return null;
        });
    }

    @Test
    void aShareOfTheStateStaysWithItsRankOrIsRefused() {
        List<DistributedOptimizer> sharded = new ArrayList<>(Arrays.asList(null, null));
        Hvd.spawn(2, hvd -> {
            var arrays = new ArrayParameters()
                    .add("w", new float[3], new float[] {1, 2, 3})
                    .add("b", new float[2], new float[2]);
            sharded.set(
                    hvd.rank(),
                    DistributedOptimizer.wrap(
                                    ShardedOptimizer.ofArrays(hvd, arrays, share -> new Sgd(share, 0.1, 0.9, 0)))
                            .build());
            sharded.get(hvd.rank()).step();
            return null;
        });
        Hvd.spawn(2, hvd -> {
            sharded.get(hvd.rank()).rebind(hvd);
            sharded.get(hvd.rank()).step();
            return null;
        });
        Hvd.spawn(3, hvd -> {
            if (hvd.rank() < 2) {
                refused(() -> sharded.get(hvd.rank()).rebind(hvd), "2 ranks", "of 3", "consolidate(root)");
            }
            return null;
        });
    }

    @Test
    void aPreparedCollectiveSaysThatItsGenerationIsOver() {
        HvdContext hvd = Hvd.init();
        PreparedAllreduce prepared =
                hvd.prepareAllreduce(List.of("x"), List.of(Tensor.of(new float[] {1})), AllreduceOptions.sum());
        prepared.start();
        prepared.await();
        Hvd.shutdown();
        try (HvdContext next = Hvd.init()) {
            assertThat(next.isOpen()).isTrue();
            assertThatThrownBy(prepared::start)
                    .isInstanceOf(NotInitialisedException.class)
                    .hasMessageContainingAll("[x]", "its generation is over", "Prepare it anew in the new context");
        }
    }
}
