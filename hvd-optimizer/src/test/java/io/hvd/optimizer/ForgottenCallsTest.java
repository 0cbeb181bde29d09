package io.hvd.optimizer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.example.training.UsersLoop;
import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.data.DataLoader;
import io.hvd.data.Dataset;
import io.hvd.data.DistributedSampler;
import io.hvd.data.ElasticSampler;
import io.hvd.data.EvalSampler;
import io.hvd.data.Sampler;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.torch.TorchOptimizer;
import io.hvd.tensor.ReduceOp;
import io.hvd.train.TrainingLoop;
import io.hvd.train.UnevenSteps;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Calls that a program forgets or makes twice, and trains on with a model that nobody wanted. */
@Timeout(60)
class ForgottenCallsTest {
    private static DistributedOptimizerBuilder around(float[] value, float[] gradient) {
        return DistributedOptimizer.wrap(new Sgd(
                new ArrayParameters().add("same", new float[3], new float[3]).add("w", value, gradient), 0.1));
    }

    private static void refused(ThrowingCallable call, ErrorId id, String... facts) {
        assertThatThrownBy(call)
                .isInstanceOfSatisfying(
                        HvdException.class, e -> assertThat(e.id()).isEqualTo(id))
                .hasMessageContainingAll(facts);
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 3})
    void withoutABroadcastTheFirstStepIsRefusedWhereParametersDifferAndChangesNothing(int size) {
        Hvd.spawn(size, hvd -> {
            float[] w = {hvd.rank() == 1 ? 2 : 1, 5};
            float[] g = {1, 1};
            DistributedOptimizer optimizer = around(w, g).build();

            refused(
                    optimizer::step,
                    ErrorId.DIVERGED,
                    "before the first step the ranks do not have the same parameters",
                    "\"w\"",
                    size == 2 ? "[0], [1]" : "[0, 2]",
                    "broadcastParameters(0)");
            assertThat(w).containsExactly(hvd.rank() == 1 ? 2 : 1, 5);

            optimizer.broadcastParameters(0);
            optimizer.zeroGradients();
            g[0] = 10;
            optimizer.step();
            assertThat(w).containsExactly(0, 5);
            return null;
        });
    }

    /** The flag of a context says nothing of the second optimizer's parameters. */
    @Test
    void aBroadcastOfAnotherOptimizersParametersIsNone() {
        Hvd.spawn(2, hvd -> {
            around(new float[1], new float[1]).build().broadcastParameters(0);
            DistributedOptimizer forgotten =
                    around(new float[] {hvd.rank()}, new float[1]).build();
            refused(forgotten::step, ErrorId.DIVERGED, "\"w\"");
            return null;
        });
    }

    @Test
    void equalParametersNeedNoBroadcastAndASharedOneIsNotComparedAtAll() {
        String log = DistributedOptimizerTest.logOf(() -> Hvd.spawn(2, hvd -> {
            DistributedOptimizer optimizer =
                    around(new float[1], new float[] {1}).build();
            optimizer.step();
            optimizer.close();
            return null;
        }));
        assertThat(log).doesNotContain("WARN");
    }

    @Test
    void ranksThatDriftApartAfterwardsAreToldAtTheEnd() {
        Hvd.spawn(3, hvd -> {
            float[] w = {1};
            float[] g = {1};
            DistributedOptimizer optimizer = around(w, g).build();
            optimizer.broadcastParameters(0);
            for (int step = 0; step < 4; step++) {
                optimizer.step();
            }
            w[0] += hvd.rank() == 2 ? 1 : 0;
            refused(optimizer::close, ErrorId.DIVERGED, "after step 4", "\"w\"", "[0, 1]", "[2]");
            optimizer.close();
            return null;
        });
    }

    /** As in Horovod, where the program takes the model from the rank that join() names. */
    @ParameterizedTest
    @ValueSource(ints = {1, 2, 100})
    void behindAJoinTheLastRankAloneHasTheModelAndNothingIsCompared(int every) {
        Hvd.spawn(3, hvd -> {
            float[] w = {1};
            DistributedOptimizer optimizer =
                    around(w, new float[] {1}).compareParametersEvery(every).build();
            optimizer.broadcastParameters(0);
            for (int step = 0; step <= hvd.rank(); step++) {
                optimizer.step();
            }
            assertThat(hvd.join()).isEqualTo(2);
            optimizer.close();
            return null;
        });
    }

    /** The others are in their own code: a rank whose program fails closes, and says why. */
    @Test
    void aRankThatClosesAloneGoesOn() {
        Hvd.spawn(2, hvd -> {
            DistributedOptimizer optimizer =
                    around(new float[1], new float[] {1}).build();
            optimizer.step();
            if (hvd.rank() == 0) {
                optimizer.close();
            }
            hvd.barrier();
            return null;
        });
    }

    @Test
    void anOptimizerThatAveragesAlreadyIsNotWrapped() {
        Hvd.spawn(2, hvd -> {
            DistributedOptimizer once =
                    around(new float[1], new float[1]).op(ReduceOp.SUM).build();
            refused(() -> DistributedOptimizer.wrap(once), ErrorId.OPTIMIZER_MISUSE, "\"same\"", "twice");
            AmpOptimizer amp = AmpOptimizer.wrap(once).build();
            refused(() -> DistributedOptimizer.wrap(amp), ErrorId.OPTIMIZER_MISUSE, "AmpOptimizer", "twice");
            refused(() -> AmpOptimizer.wrap(once).build(), ErrorId.OPTIMIZER_MISUSE, "\"same\"");
            return null;
        });
    }

    @Test
    void twoOfThemOverTheSameArraysAreNotSteppedInTurn() {
        Hvd.spawn(2, hvd -> {
            ArrayParameters both = new ArrayParameters().add("w", new float[1], new float[] {1});
            DistributedOptimizer first =
                    DistributedOptimizer.wrap(new Sgd(both, 1)).build();
            first.step();
            DistributedOptimizer second =
                    DistributedOptimizer.wrap(new Adam(both, 1)).build();
            second.step();
            refused(first::step, ErrorId.OPTIMIZER_MISUSE, "\"w\"", "built around the same parameters");
            second.step();
            second.close();
            first.step();
            return null;
        });
    }

    /** A layer of LibTorch's, whose gradients add up until somebody clears them. */
    private static final class Layer {
        final LinearImpl layer = new LinearImpl(2, 1);
        final DistributedOptimizer optimizer;

        Layer(HvdContext hvd) {
            optimizer = DistributedOptimizer.wrap(new TorchOptimizer(
                            new SGD(layer.parameters(), new SGDOptions(0.1)), layer.named_parameters()))
                    .context(hvd)
                    .build();
            optimizer.broadcastParameters(0);
        }

        void backward() {
            Tensor loss = layer.forward(torch.ones(1, 2)).sum();
            loss.backward();
        }
    }

    @Test
    void gradientsThatNobodyHasClearedSinceTheLastStepAreWarnedOfOnceWithTheLine() {
        String log = DistributedOptimizerTest.logOf(() -> Hvd.spawn(2, hvd -> {
            Layer layer = new Layer(hvd);
            UsersLoop.steps(4, layer::backward, layer.optimizer);
            return null;
        }));
        assertThat(log)
                .containsOnlyOnce("call zeroGradients() before backward")
                .containsPattern("The step is at UsersLoop.steps\\(UsersLoop.java:\\d+\\)");
    }

    @Test
    void gradientsThatAddUpWithinAStepOrAreClearedByLibTorchAreNot() {
        String log = DistributedOptimizerTest.logOf(() -> Hvd.spawn(2, hvd -> {
            Layer layer = new Layer(hvd);
            for (int step = 0; step < 4; step++) {
                if (step % 2 == 0) {
                    layer.optimizer.zeroGradients();
                } else {
                    layer.layer.zero_grad(true);
                }
                try (var local = layer.optimizer.noSync()) {
                    layer.backward();
                    layer.backward();
                }
                layer.backward();
                layer.optimizer.step();
            }
            return null;
        }));
        assertThat(log).doesNotContain("zeroGradients()");
    }

    /** Arrays are the program's, which may overwrite them. */
    @Test
    void arraysThatAreOverwrittenNeedNotBeCleared() {
        String log = DistributedOptimizerTest.logOf(() -> Hvd.spawn(2, hvd -> {
            float[] g = new float[1];
            DistributedOptimizer optimizer = around(new float[1], g).build();
            optimizer.broadcastParameters(0);
            for (int step = 0; step < 3; step++) {
                g[0] = 1;
                optimizer.step();
            }
            return null;
        }));
        assertThat(log).doesNotContain("WARN");
    }

    /** @param loop whether a TrainingLoop goes through the loader, and not the program's own */
    private static String logOfSampler(boolean loop, Function<HvdContext, Sampler> sampler) {
        return DistributedOptimizerTest.logOf(() -> Hvd.spawn(2, hvd -> {
            List<Integer> samples = new ArrayList<>(List.of(1, 2, 3, 4, 5, 6, 7, 8));
            DistributedOptimizer optimizer = around(new float[1], new float[1]).build();
            optimizer.broadcastParameters(0);
            try (var loader = DataLoader.builder(Dataset.of(samples), sampler.apply(hvd), List::copyOf)
                    .batchSize(2)
                    .evenSteps(UnevenSteps.REFUSE.among(hvd))
                    .build()) {
                if (loop) {
                    TrainingLoop.of(hvd, optimizer).run(2, loader, (batch, training) -> {});
                } else {
                    UsersLoop.epochs(2, loader);
                }
            }
            return null;
        }));
    }

    @Test
    void aSamplerForAnotherNumberOfRanksIsWarnedOfWithTheLine() {
        String own = logOfSampler(false, hvd -> new DistributedSampler(8, 4, hvd.rank()));
        assertThat(own)
                .containsOnlyOnce(
                        "rank 0 gets samples of a sampler that was made for 4 rank(s), but 2 rank(s) step together")
                .contains("no rank sees")
                .containsPattern("is at UsersLoop.epochs\\(UsersLoop.java:\\d+\\)");
        assertThat(logOfSampler(false, hvd -> new DistributedSampler(8, 1, 0)))
                .contains("rank 1 gets samples of a sampler that was made for 1 rank(s)", "ranks see the same samples");
        assertThat(logOfSampler(
                        true, hvd -> ElasticSampler.builder(8, 4, hvd.rank()).build()))
                .contains("made for 4 rank(s)");
        assertThat(logOfSampler(true, hvd -> new EvalSampler(8, 4, hvd.rank()))).contains("made for 4 rank(s)");
    }

    @Test
    void aSamplerForTheRanksThatStepTogetherIsNot() {
        for (boolean loop : new boolean[] {false, true}) {
            assertThat(logOfSampler(loop, hvd -> new DistributedSampler(8, hvd.size(), hvd.rank())))
                    .doesNotContain("WARN");
        }
    }
}
