package io.hvd.optimizer.agreement;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.hvd.Hvd;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.ArrayParameters;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.optimizer.Sgd;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Several optimizers in one program, of which none has been given a scope. */
@Timeout(60)
class OptimizerScopeTest {
    private static DistributedOptimizer sgd(String name, float[] value, float[] gradient) {
        return DistributedOptimizer.wrap(new Sgd(new ArrayParameters().add(name, value, gradient), 1))
                .build();
    }

    /** Their parameters have the same name, and both gradients are on their way before either step, as in a GAN's training. */
    @Test
    void twoOptimizersOfOneProgramDoNotCollide() {
        Hvd.spawn(3, hvd -> {
            float[] generator = {0};
            float[] discriminator = {0, 0};
            float[] ofGenerator = new float[1];
            float[] ofDiscriminator = new float[2];
            DistributedOptimizer first = sgd("fc.weight", generator, ofGenerator);
            DistributedOptimizer second = sgd("fc.weight", discriminator, ofDiscriminator);
            for (int step = 0; step < 20; step++) {
                ofGenerator[0] = 3 * hvd.rank();
                ofDiscriminator[1] = 30 * hvd.rank();
                first.gradientReady("fc.weight");
                second.gradientReady("fc.weight");
                (step % 2 == 0 ? first : second).step();
                (step % 2 == 0 ? second : first).step();
            }

            assertThat(generator).containsExactly(-3 * 20);
            assertThat(discriminator).containsExactly(0, -30 * 20);
            return null;
        });
    }

    /** Without the comparison rank 1 would wait for one gradient, and the others for another one, for ever. */
    @Test
    void ranksThatBuildThemInAnotherOrderGetAnErrorInsteadOfAWait() {
        Hvd.spawn(3, hvd -> {
            DistributedOptimizer generator;
            if (hvd.rank() == 1) {
                sgd("critic", new float[2], new float[2]);
                generator = sgd("g", new float[1], new float[1]);
            } else {
                generator = sgd("g", new float[1], new float[1]);
                sgd("critic", new float[2], new float[2]);
            }
            HvdException error = catchThrowableOfType(HvdException.class, generator::step);

            assertThat(error.id()).isEqualTo(ErrorId.DIVERGED);
            assertThat(error)
                    .hasMessageContainingAll(
                            "\"scope\" is gradient on ranks [0, 2] and gradient#2 on ranks [1]",
                            "in the order in which it builds them",
                            "scope(...)");
            return null;
        });
    }

    @Test
    void twinsThatTheRanksStepInAnotherOrderGetAnErrorToo() {
        Hvd.spawn(2, hvd -> {
            List<DistributedOptimizer> twins =
                    List.of(sgd("w", new float[1], new float[1]), sgd("w", new float[1], new float[1]));
            assertThatThrownBy(() -> twins.get(hvd.rank()).step())
                    .hasMessageContaining("\"scope\" is gradient on ranks [0] and gradient#2 on ranks [1]");
            return null;
        });
    }

    @Test
    void anOptimizerThatOneRankBuildsAloneDisturbsNoneWithANameOfItsOwn() {
        Hvd.spawn(2, hvd -> {
            float[] gradient = {hvd.rank()};
            if (hvd.rank() == 1) {
                sgd("w", new float[1], new float[1]);
            }
            DistributedOptimizer mine = DistributedOptimizer.wrap(
                            new Sgd(new ArrayParameters().add("w", new float[1], gradient), 1))
                    .scope("mine")
                    .build();
            mine.step();
            assertThat(gradient).containsExactly(0.5f);
            return null;
        });
    }

    @Test
    void oneRankThatWeighsBySamplesBesideOneThatDoesNotIsNamed() {
        Hvd.spawn(2, hvd -> {
            var builder =
                    DistributedOptimizer.wrap(new Sgd(new ArrayParameters().add("w", new float[1], new float[1]), 1));
            DistributedOptimizer optimizer = (hvd.rank() == 0 ? builder.weightByBatchSize() : builder).build();
            if (hvd.rank() == 0) {
                optimizer.batchSize(2);
            }
            assertThatThrownBy(optimizer::step)
                    .hasMessageContaining("\"average over\" is ranks on ranks [1] and samples on ranks [0]");
            return null;
        });
    }

    /** What is in flight ends first, and an optimizer of other shapes may have the names afterwards. */
    @Test
    void aClosedOptimizerGivesItsNamesBackAndRefusesSteps() {
        Hvd.spawn(2, hvd -> {
            for (int length = 1; length <= 3; length++) {
                float[] gradient = new float[length];
                Sgd sgd = new Sgd(new ArrayParameters().add("w", new float[length], gradient), 1);
                DistributedOptimizer optimizer = DistributedOptimizer.wrap(sgd)
                        .scope("one after another")
                        .clipGradientNorm(100)
                        .weightByBatchSize()
                        .build();
                optimizer.batchSize(1);
                gradient[0] = 2 * hvd.rank();
                optimizer.step();
                optimizer.batchSize(1);
                gradient[0] = 4 * hvd.rank();
                optimizer.gradientReady("w");
                optimizer.close();
                optimizer.close();

                assertThat(gradient[0]).isEqualTo(2);
                assertThatThrownBy(optimizer::step).hasMessageContainingAll("HVD-401", "Sgd of 1", "after close()");
                assertThatThrownBy(optimizer::synchronize).hasMessageContaining("after close()");
                assertThatThrownBy(optimizer::noSync).hasMessageContaining("after close()");
            }
            return null;
        });
    }
}
