package io.hvd.optimizer.agreement;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.InitOptions;
import io.hvd.ProcessSet;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.Adam;
import io.hvd.optimizer.ArrayParameters;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.optimizer.Optimizer;
import io.hvd.optimizer.Sgd;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class SettingsCheckTest {
    private static ArrayParameters parameters(float[] value) {
        return new ArrayParameters().add("w", value, new float[value.length]);
    }

    private static DistributedOptimizer sgd(HvdContext hvd, double rate) {
        return DistributedOptimizer.wrap(new Sgd(parameters(new float[3]), rate))
                .context(hvd)
                .build();
    }

    @Test
    void differentLearningRatesAreRefusedOnAllRanksBeforeAnythingChanges() {
        Hvd.spawn(3, hvd -> {
            float[] value = {1, 2};
            float[] gradient = {hvd.rank(), 1};
            DistributedOptimizer optimizer = DistributedOptimizer.wrap(
                            new Sgd(new ArrayParameters().add("w", value, gradient), hvd.rank() == 1 ? 0.25 : 0.5))
                    .build();

            HvdException error = catchThrowableOfType(HvdException.class, optimizer::step);

            assertThat(error.id()).isEqualTo(ErrorId.DIVERGED);
            assertThat(error)
                    .hasMessageContainingAll(
                            "before the first step",
                            "\"learning rate\" is 0.25 on ranks [1] and 0.5 on ranks [0, 2]",
                            "settingsMayDiffer()")
                    .hasMessageNotContainingAny("momentum", "\"optimizer\"");
            assertThat(value).containsExactly(1, 2);
            return null;
        });
    }

    @Test
    void equalSettingsPass() {
        Hvd.spawn(3, hvd -> {
            DistributedOptimizer optimizer = sgd(hvd, 0.5);
            optimizer.step();
            optimizer.step();
            return null;
        });
    }

    /** Schedules that differ later are not looked at: a later step exchanges nothing but gradients. */
    @Test
    void onlyTheFirstStepCompares() {
        Hvd.spawn(2, hvd -> {
            DistributedOptimizer optimizer = sgd(hvd, 0.5);
            optimizer.step();
            optimizer.learningRate(0.1 + hvd.rank());
            optimizer.step();
            return null;
        });
    }

    @Test
    void anotherKindAndTheNumbersOfTheSameKindAreNamed() {
        Hvd.spawn(2, hvd -> {
            Optimizer mine = hvd.rank() == 0
                    ? new Sgd(parameters(new float[2]), 0.5, 0.9, 0)
                    : new Adam(parameters(new float[2]), 0.125);
            assertThat(catchThrowableOfType(
                            HvdException.class, DistributedOptimizer.wrap(mine).build()::step))
                    .hasMessageContainingAll(
                            "\"optimizer\" is Adam on ranks [1] and Sgd on ranks [0]",
                            "\"learning rate\" is 0.125 on ranks [1] and 0.5 on ranks [0]")
                    .hasMessageNotContainingAny("beta1", "momentum");
            return null;
        });
        Hvd.spawn(2, hvd -> {
            Sgd mine = new Sgd(parameters(new float[2]), 0.5, 0.9, hvd.rank() * 0.01);
            assertThat(catchThrowableOfType(
                            HvdException.class, DistributedOptimizer.wrap(mine).build()::step))
                    .hasMessageContaining("\"weight decay\" is 0.0 on ranks [0] and 0.01 on ranks [1]");
            return null;
        });
    }

    @Test
    void onlyTheRanksOfTheSetCompare() {
        Hvd.spawn(4, InitOptions.standard().withDynamicProcessSets(), hvd -> {
            ProcessSet even = hvd.addProcessSet(List.of(0, 2));
            ProcessSet odd = hvd.addProcessSet(List.of(1, 3));
            ProcessSet own = even.included() ? even : odd;
            double rate = even.included() ? 0.5 : 0.25 * hvd.rank();
            DistributedOptimizer optimizer = DistributedOptimizer.wrap(new Sgd(parameters(new float[2]), rate))
                    .processSet(own)
                    .build();
            if (even.included()) {
                optimizer.step();
            } else {
                assertThat(catchThrowableOfType(HvdException.class, optimizer::step))
                        .hasMessageContaining("\"learning rate\" is 0.25 on ranks [1] and 0.75 on ranks [3]");
            }
            return null;
        });
    }

    @Test
    void whoeverWantsDifferentRatesSaysSo() {
        Hvd.spawn(2, hvd -> {
            DistributedOptimizer optimizer = DistributedOptimizer.wrap(
                            new Sgd(parameters(new float[2]), 0.5 + hvd.rank()))
                    .settingsMayDiffer()
                    .build();
            optimizer.step();
            return null;
        });
    }

    /** Their gradients are on the way already, so neither step waits for the other optimizer. */
    @Test
    void twoOptimizersMayStepInAnotherOrderOnEveryRank() {
        Hvd.spawn(2, hvd -> {
            List<DistributedOptimizer> order = Stream.of("a", "b")
                    .map(scope -> DistributedOptimizer.wrap(new Sgd(parameters(new float[2]), 0.5))
                            .scope(scope)
                            .build())
                    .collect(Collectors.toCollection(ArrayList::new));
            if (hvd.rank() == 1) {
                Collections.reverse(order);
            }
            order.forEach(optimizer -> optimizer.gradientReady("w"));
            order.forEach(DistributedOptimizer::step);
            return null;
        });
    }

    @Test
    void oneRankComparesWithNobody() {
        Hvd.spawn(1, hvd -> {
            sgd(hvd, 0.5).step();
            return null;
        });
    }

    /** Rank 1 has no data in the first epoch; in the second one it steps for the first time, and the others do not. */
    @Test
    void aRankThatHasJoinedBeforeItsFirstStepNeitherComparesNorHoldsUpTheOthers() {
        Hvd.spawn(3, hvd -> {
            DistributedOptimizer optimizer = sgd(hvd, 0.5 + (hvd.rank() == 1 ? 1 : 0));
            if (hvd.rank() != 1) {
                optimizer.step();
            }
            hvd.join();
            optimizer.step();
            return null;
        });
    }

    @Test
    void theOthersCompareWithoutTheRankThatHasJoined() {
        Hvd.spawn(3, hvd -> {
            DistributedOptimizer optimizer = sgd(hvd, 0.5 + hvd.rank());
            if (hvd.rank() != 1) {
                assertThat(catchThrowableOfType(HvdException.class, optimizer::step))
                        .hasMessageContaining("\"learning rate\" is 0.5 on ranks [0] and 2.5 on ranks [2]");
            }
            hvd.join();
            return null;
        });
    }

    /** Rank 1 has had nothing to do until rank 0 was through; rank 2 has built its optimizer before and not used it. */
    @Test
    void ranksMayBuildTheirOptimizersBeforeAndAfterAJoin() {
        Hvd.spawn(3, hvd -> {
            DistributedOptimizer early = hvd.rank() == 1 ? null : sgd(hvd, 0.5);
            if (hvd.rank() == 0) {
                early.step();
                early.step();
            }
            hvd.join();
            DistributedOptimizer optimizer = hvd.rank() == 1 ? sgd(hvd, 0.5) : early;
            optimizer.step();
            optimizer.step();
            return null;
        });
    }

    /** Rank 0 has compared with nobody, and is told as well. */
    @Test
    void optimizersThatDifferAreRefusedInTheFirstStepAfterAJoin() {
        Hvd.spawn(3, hvd -> {
            DistributedOptimizer early = hvd.rank() == 1 ? null : sgd(hvd, 0.5);
            if (hvd.rank() == 0) {
                early.step();
            }
            hvd.join();
            DistributedOptimizer optimizer = hvd.rank() == 1 ? sgd(hvd, 0.25) : early;

            assertThat(catchThrowableOfType(HvdException.class, optimizer::step))
                    .hasMessageContaining("\"learning rate\" is 0.25 on ranks [1] and 0.5 on ranks [2]");
            return null;
        });
    }

    /** Whichever parameter it is: one of them is where the ranks would have met. */
    @Test
    void aParameterThatIsLocalOnOneRankOnlyIsNamed() {
        for (String name : List.of("a", "b", "c")) {
            Hvd.spawn(2, hvd -> {
                ArrayParameters parameters = new ArrayParameters();
                List.of("a", "b", "c").forEach(each -> parameters.add(each, new float[1], new float[1]));
                DistributedOptimizer optimizer = DistributedOptimizer.wrap(new Sgd(parameters, 1))
                        .localParameters(hvd.rank() == 0 ? List.of(name) : List.of())
                        .build();

                HvdException error = catchThrowableOfType(HvdException.class, optimizer::step);

                assertThat(error.id()).isEqualTo(ErrorId.DIVERGED);
                assertThat(error).hasMessageContaining("parameters that are not local");
                return null;
            });
        }
    }
}
