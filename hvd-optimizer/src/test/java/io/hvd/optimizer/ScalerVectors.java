package io.hvd.optimizer;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.HvdContext;
import io.hvd.RankBody;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** How a loss scale grows and shrinks, on ranks of every kind. */
@Timeout(120)
abstract class ScalerVectors {
    /** Runs a body on every rank. */
    abstract void onAll(RankBody<Void> body) throws Exception;

    /** One weight of 1, stepped with a learning rate of 1. */
    private static final class Training {
        final GradScaler scaler = new GradScaler();
        final float[] weight = {1};
        final float[] gradient = {0};
        final DistributedOptimizer optimizer;

        Training(HvdContext hvd) {
            optimizer = DistributedOptimizer.wrap(new Sgd(new ArrayParameters().add("w", weight, gradient), 1))
                    .context(hvd)
                    .build();
            optimizer.broadcastParameters(0);
        }

        boolean step(double unscaled) {
            optimizer.zeroGradients();
            gradient[0] = (float) scaler.scale(unscaled);
            boolean stepped = scaler.step(optimizer);
            scaler.update();
            return stepped;
        }
    }

    @Test
    void after2000FiniteStepsTheScaleIsDoubledOnAllRanks() throws Exception {
        onAll(hvd -> {
            Training training = new Training(hvd);
            double mine = 0.25 * (hvd.rank() + 1);
            double mean = 0.25 * (hvd.size() + 1) / 2;
            for (int step = 1; step < 2000; step++) {
                assertThat(training.step(mine)).isTrue();
            }
            assertThat(training.scaler.scale()).isEqualTo(65536);
            assertThat(training.scaler.growthTracker()).isEqualTo(1999);

            training.step(mine);

            assertThat(training.scaler.scale()).isEqualTo(131072);
            assertThat(training.scaler.growthTracker()).isZero();
            assertThat(training.weight[0]).isEqualTo((float) (1 - 2000 * mean));
            return null;
        });
    }

    @ParameterizedTest
    @ValueSource(floats = {Float.POSITIVE_INFINITY, Float.NEGATIVE_INFINITY, Float.NaN})
    void ifOneRankOverflowsAllSkipTheStepAndHaveTheSameScaleAndTrackerAfterwards(float found) throws Exception {
        onAll(hvd -> {
            Training training = new Training(hvd);
            double mean = (hvd.size() - 1) / 2.0;
            assertThat(training.step(hvd.rank())).isTrue();
            assertThat(training.weight[0]).isEqualTo((float) (1 - mean));

            assertThat(training.step(hvd.rank() == hvd.size() - 1 ? found : 1)).isFalse();

            assertThat(training.weight[0]).as("as before").isEqualTo((float) (1 - mean));
            assertThat(training.scaler.growthTracker()).isZero();
            assertThat(training.scaler.scale()).isEqualTo(32768);
            assertThat(training.step(1)).as("the next step").isTrue();
            assertThat(training.weight[0]).isEqualTo((float) (-mean));
            assertThat(training.scaler.scale()).isEqualTo(32768);
            assertThat(training.scaler.growthTracker()).isEqualTo(1);
            return null;
        });
    }
}
