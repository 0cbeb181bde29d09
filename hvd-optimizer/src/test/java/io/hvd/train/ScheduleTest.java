package io.hvd.train;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import io.hvd.Hvd;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.ArrayParameters;
import io.hvd.optimizer.Sgd;
import java.util.List;
import java.util.stream.IntStream;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@Timeout(60)
class ScheduleTest {
    private static void assertRates(Schedule schedule, double[] epochs, double... rates) {
        for (int i = 0; i < epochs.length; i++) {
            assertThat(schedule.rate(epochs[i]))
                    .as("%s at %s", schedule, epochs[i])
                    .isCloseTo(rates[i], within(1e-12));
        }
    }

    private static double[] at(double... epochs) {
        return epochs;
    }

    /** The rates of Horovod's LearningRateWarmupCallback on 4 ranks over 5 epochs. */
    @ParameterizedTest
    @CsvSource({"0, 0.01", "2.5, 0.025", "5, 0.04", "7, 0.04"})
    void theWarmUpOfHorovod(double epoch, double rate) {
        assertThat(Schedule.fixed(0.04).warmUp(4, 5).rate(epoch)).isCloseTo(rate, within(1e-12));
    }

    /** The schedule of Horovod's ImageNet example, for 4 ranks and 1 batch per allreduce. */
    @ParameterizedTest
    @CsvSource({"0, 0.0125", "10, 0.05", "29.99, 0.05", "30, 0.005", "60, 0.0005", "80, 0.00005", "89, 0.00005"})
    void theScheduleOfHorovodsImageNet(double epoch, double rate) {
        Schedule schedule = Schedule.multiFactor(0.0125 * 4, 0.1, 30, 60, 80).warmUp(4, 5);

        assertThat(schedule.rate(epoch)).isCloseTo(rate, within(1e-12));
    }

    @Test
    void aWarmUpOneStepAheadEndsWithTheWholeRateInItsLastStep() {
        Schedule schedule = Schedule.fixed(0.04).warmUp(4, 5, 10);

        assertRates(schedule, at(0, 4.9, 5), 0.01 / 5 * 5 + 0.04 / 4 * 0.1 * 3 / 5, 0.04, 0.04);
        assertRates(Schedule.fixed(0.04).warmUp(1, 5), at(0, 2, 9), 0.04, 0.04, 0.04);
    }

    @Test
    void stepsAndFactorsChangeTheRateWhenAnEpochBegins() {
        assertRates(Schedule.fixed(0.3), at(0, 9.5), 0.3, 0.3);
        assertRates(Schedule.factor(8, 0.5), at(0, 0.99, 1, 3.5), 8, 8, 4, 1);
        assertRates(Schedule.step(8, 0.5, 3), at(0, 2.9, 3, 6), 8, 8, 4, 2);
        assertRates(Schedule.multiFactor(8, 0.5, 1, 1.5), at(0.9, 1, 1.5, 9), 8, 4, 2, 2);
    }

    @Test
    void smoothSchedulesEndAtTheirLastRateAndStayThere() {
        assertRates(Schedule.cosine(3, 1, 10), at(0, 2.5, 5, 10, 11), 3, 2 + Math.sqrt(0.5), 2, 1, 1);
        assertRates(Schedule.linear(1, 3, 4), at(0, 1, 4, 5), 1, 1.5, 3, 3);
        assertRates(Schedule.polynomial(9, 1, 4, 2), at(0, 1, 2, 4, 5), 9, 5.5, 3, 1, 1);
    }

    @Test
    void cyclesGoUpAndDownAndMayShrink() {
        assertRates(Schedule.cyclical(1, 3, 2), at(0, 1, 2, 3, 4, 6), 1, 2, 3, 2, 1, 3);
        assertRates(Schedule.cyclical(1, 5, 1, 3, 0.5), at(0, 1, 2.5, 4, 5, 8), 1, 5, 3, 1, 3, 1);
    }

    @Test
    void aScheduleGoesOnWithAnother() {
        Schedule schedule = Schedule.linear(0, 1, 2).then(2, Schedule.factor(1, 0.5));

        assertRates(schedule, at(0, 1, 2, 3), 0, 0.5, 1, 0.5);
        assertThat(schedule).hasToString("polynomial(0.0, 1.0, 2.0, 1.0).then(2.0, step(1.0, 0.5, 1.0))");
    }

    /**
     * Keras' velocity has the rate in it, and Horovod multiplies the momentum by new rate / old rate for the batch in which the
     * rate changes; an SGD whose velocity does not have it takes the very steps.
     */
    @Test
    void sgdNeedsNoMomentumCorrection() {
        Schedule schedule = Schedule.multiFactor(0.5, 0.1, 3, 7).warmUp(4, 2);
        float[] value = {1};
        float[] gradient = {0};
        Sgd sgd = new Sgd(new ArrayParameters().add("w", value, gradient), schedule.rate(0), 0.9, 0);
        double w = 1;
        double velocity = 0;
        double old = schedule.rate(0);
        for (double epoch = 0; epoch < 10; epoch += 0.5) {
            double rate = schedule.rate(epoch);
            double gradientNow = Math.sin(epoch) + w;
            velocity = 0.9 * rate / old * velocity - rate * gradientNow;
            w += velocity;
            old = rate;

            gradient[0] = (float) (Math.sin(epoch) + value[0]);
            sgd.learningRate(rate);
            sgd.step();
            assertThat((double) value[0]).as("epoch %s", epoch).isCloseTo(w, within(1e-5));
        }
        assertThat(w).isNotCloseTo(1, within(0.01));
    }

    @Test
    void ranksWithAnotherScheduleAreNamedWithTheirRates() {
        List<String> messages = Hvd.spawn(3, hvd -> {
            Schedule schedule = Schedule.multiFactor(0.5, 0.1, hvd.rank() == 1 ? 4 : 8);
            schedule.requireSame(hvd, 3); // they differ later only
            try {
                schedule.requireSame(hvd, 16);
                return "nothing was thrown";
            } catch (HvdException e) {
                assertThat(e.id()).isEqualTo(ErrorId.DIFFERENT_SETTINGS);
                return e.getMessage();
            }
        });

        assertThat(messages)
                .allSatisfy(
                        message -> assertThat(message)
                                .contains(
                                        "the ranks differ in the learning rate at epoch 4.0: 0.05 on ranks [1]; 0.5 on ranks [0, 2]"));
    }

    @Test
    void ranksWithAnotherNumberOfEpochsAreNamed() {
        Hvd.spawn(2, hvd -> {
            assertThatThrownBy(() -> Schedule.fixed(1).requireSame(hvd, 3 + hvd.rank()))
                    .hasMessageContaining("the number of epochs: 3.0 on ranks [0]; 4.0 on ranks [1]");
            return null;
        });
    }

    @Test
    void whatCannotBeMeantIsRefusedByName() {
        assertRefused(
                () -> Schedule.fixed(-0.1), "schedule fixed: rate is -0.1, expected a finite number of at least 0");
        assertRefused(() -> Schedule.step(1, 0.1, 0), "schedule step: every is 0.0, expected a finite number above 0");
        assertRefused(() -> Schedule.multiFactor(1, 0.1, 3, 3), "epoch 2 is 3.0, expected more than the one before");
        assertRefused(() -> Schedule.cosine(1, Double.NaN, 3), "last is NaN");
        assertRefused(() -> Schedule.polynomial(1, 0, Double.POSITIVE_INFINITY, 1), "epochs is Infinity");
        assertRefused(() -> Schedule.fixed(1).warmUp(0, 5), "ranks is 0.0");
        assertRefused(() -> Schedule.fixed(1).rate(-1), "schedule fixed(1.0).rate: epoch is -1.0");
    }

    private static void assertRefused(ThrowingCallable call, String message) {
        assertThatThrownBy(call)
                .isInstanceOfSatisfying(
                        HvdException.class, e -> assertThat(e.id()).isEqualTo(ErrorId.BAD_ARGUMENT))
                .hasMessageContaining(message);
    }

    @Test
    void aPlateauWaitsForItsPatienceAndGoesNoLowerThanItsLeast() {
        Plateau plateau = new Plateau(Goal.smallest("loss").by(0.1), 0.5, 1, 0.2);
        double[] losses = {3, 2, 1.95, 1.95, 1.95, 1.95, 1, Double.NaN, Double.NaN, 2, 2};
        double[] factors = {1, 1, 1, 0.5, 0.5, 0.25, 0.25, 0.25, 0.2, 0.2, 0.2};

        assertThat(IntStream.range(0, losses.length)
                        .mapToDouble(i -> plateau.factorAfter(new MeanMetric.Result(losses[i], 1)))
                        .toArray())
                .containsExactly(factors);
        assertRefused(() -> new Plateau(Goal.smallest("loss"), 1, 1, 0), "Plateau of \"loss\": found factor 1.0");
    }
}
