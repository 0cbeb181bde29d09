package io.hvd.train;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import java.util.Arrays;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Rates that torch 1.13.1 has given in Python, step by step, and what can only be seen here. */
class TorchSchedulesTest {
    private static void assertSteps(Schedule schedule, double... rates) {
        assertEvery(1, schedule, rates);
    }

    private static void assertEvery(double distance, Schedule schedule, double... rates) {
        for (int i = 0; i < rates.length; i++) {
            assertThat(schedule.rate(distance * i))
                    .as("%s at %s", schedule, distance * i)
                    .isCloseTo(rates[i], within(1e-15));
        }
    }

    /** {@code OneCycleLR(optimizer, max_lr=0.5, total_steps=10)}, and {@code (max_lr=1.0, total_steps=7, pct_start=0.25)}. */
    @Test
    void oneCycleIsTorchs() {
        assertSteps(
                Schedule.oneCycle(0.5, 10),
                0.020000000000000018,
                0.26,
                0.5,
                0.47524231600673683,
                0.40587282697488153,
                0.30563101096814466,
                0.19437098903185537,
                0.09412917302511849,
                0.024759683993263143,
                2e-06);
        assertSteps(
                Schedule.oneCycle(1, 7, 0.25, 25, 1e4),
                0.040000000000000036,
                0.9944154354509117,
                0.8665264698111694,
                0.6112620219362893,
                0.31733221849885124,
                0.08688426531955129,
                4e-06);
        assertThat(Schedule.oneCycle(0.5, 10).rate(11)).isCloseTo(2e-6, within(1e-15));
        assertThat(Schedule.oneCycle(0.5, 10)).hasToString("oneCycle(0.5, 10, 0.3, 25.0, 10000.0)");
    }

    /** {@code CosineAnnealingWarmRestarts(optimizer, T_0=3, T_mult=2, eta_min=0.01)} of the rate 0.1, and {@code (T_0=4)}. */
    @Test
    void cosineRestartsAreTorchs() {
        assertSteps(
                Schedule.cosineRestarts(0.1, 0.01, 3, 2),
                0.1,
                0.0775,
                0.032500000000000015,
                0.1,
                0.09397114317029975,
                0.0775,
                0.05500000000000001,
                0.032500000000000015,
                0.01602885682970026,
                0.1,
                0.09846666218300808,
                0.09397114317029975,
                0.08681980515339464,
                0.0775,
                0.06664685702961344,
                0.05500000000000001,
                0.04335314297038658,
                0.032500000000000015,
                0.023180194846605363,
                0.01602885682970026,
                0.011533337816991932,
                0.1,
                0.09961501876182148,
                0.09846666218300808);
        assertSteps(
                Schedule.cosineRestarts(0.1, 0, 4, 1),
                0.1,
                0.08535533905932738,
                0.05,
                0.014644660940672627,
                0.1,
                0.08535533905932738,
                0.05,
                0.014644660940672627,
                0.1);
    }

    /** {@code scheduler.step(epoch + batch / batches)}, as its documentation has it. */
    @Test
    void cosineRestartsAreTorchsBetweenEpochsToo() {
        assertEvery(
                0.5,
                Schedule.cosineRestarts(0.1, 0.01, 3, 2),
                0.1,
                0.09397114317029975,
                0.0775,
                0.05500000000000001,
                0.032500000000000015,
                0.01602885682970026,
                0.1,
                0.09846666218300808);
    }

    /** A logarithm that is off by its last bit would give the end of one period instead of the beginning of the next. */
    @Test
    void everyPeriodBeginsWithTheWholeRate() {
        for (double longer : new double[] {1, 1.1, 1.5, 2, 3, 7}) {
            Schedule schedule = Schedule.cosineRestarts(1, 0, 3, longer);
            double begin = 0;
            double length = 3;
            for (int period = 0; period < 20; period++) {
                assertThat(schedule.rate(begin + length * 1e-9))
                        .as("%s at %s", schedule, begin)
                        .isCloseTo(1, within(1e-6));
                assertThat(schedule.rate(begin + length / 2)).isCloseTo(0.5, within(1e-6));
                begin += length;
                length *= longer;
            }
        }
    }

    @Test
    void aWarmUpMayBeginAtZeroOrAtTheRateOfOneRankStepByStep() {
        assertSteps(Schedule.fixed(0.4).warmUpFrom(0, 4), 0, 0.1, 0.2, 0.3, 0.4, 0.4);
        assertSteps(
                Schedule.fixed(0.4).warmUpFrom(1.0 / 4, 5),
                IntStream.range(0, 7)
                        .mapToDouble(Schedule.fixed(0.4).warmUp(4, 5)::rate)
                        .toArray());
        assertThat(Schedule.fixed(1).warmUpFrom(0, 2)).hasToString("fixed(1.0).warmUpFrom(0.0, 2.0)");
    }

    @Test
    void aScheduleInStepsServesALoopThatCountsEpochs() {
        Schedule steps = Schedule.oneCycle(0.5, 10);

        assertEvery(
                0.2,
                steps.inEpochsOf(5),
                IntStream.range(0, 11).mapToDouble(steps::rate).toArray());
        assertThat(steps.inEpochsOf(5)).hasToString(steps + ".inEpochsOf(5)");
    }

    /** 8 + 5 / 7.0, times 7, is a hair below 61. */
    @Test
    void aRateThatFallsAtAStepFallsAtThatStepOfAnEpoch() {
        for (int step = 1; step <= 1000; step++) {
            Schedule inEpochs = Schedule.multiFactor(1, 0.1, step).inEpochsOf(7);
            assertThat(inEpochs.rate(step / 7 + step % 7 / 7.0))
                    .as("step %d", step)
                    .isEqualTo(0.1);
            assertThat(inEpochs.rate((step - 1) / 7 + (step - 1) % 7 / 7.0))
                    .as("step %d", step - 1)
                    .isEqualTo(1);
        }
    }

    @Test
    void whatCannotBeMeantIsRefused() {
        assertRefused(() -> Schedule.fixed(1).warmUpFrom(1.5, 2), "part is 1.5, expected a number from 0 to 1");
        assertRefused(
                () -> Schedule.cosineRestarts(1, 0, 3, 0.5), "longer is 0.5, expected a finite number of at least 1");
        assertRefused(() -> Schedule.oneCycle(1, 1), "steps - 1 is 0.0");
        assertRefused(() -> Schedule.oneCycle(1, 3), "the step of the highest rate, is -0.1");
        assertRefused(() -> Plateau.torch(Goal.smallest("loss")).threshold(1), "Plateau of \"loss\": threshold is 1.0");
        assertRefused(() -> Plateau.torch(Goal.smallest("loss")).cooldown(-1), "cooldown is -1");
        assertRefused(() -> Plateau.torch(Goal.smallest("loss")).leastChange(Double.NaN), "leastChange is NaN");
    }

    private static void assertRefused(Runnable making, String words) {
        assertThatThrownBy(making::run)
                .isInstanceOfSatisfying(
                        HvdException.class, e -> assertThat(e.id()).isEqualTo(ErrorId.BAD_ARGUMENT))
                .hasMessageContaining(words);
    }

    private static void assertFactors(Plateau plateau, double[] values, double... factors) {
        assertThat(Arrays.stream(values)
                        .map(value -> plateau.factorAfter(new MeanMetric.Result(value, 1)))
                        .toArray())
                .as("%s", plateau)
                .containsExactly(factors, within(1e-15));
    }

    private static final double[] HARDLY_BETTER = {
        1, 1, .99995, .9998, .99979, .99975, .9997, .99968, .99968, .99968, .99968
    };

    /** {@code ReduceLROnPlateau(optimizer, patience=1)} of the rate 1, its mode abs, and without a threshold. */
    @Test
    void aPlateauCountsWhatIsBetterAsTorchDoes() {
        Goal loss = Goal.smallest("loss");
        assertFactors(
                new Plateau(loss, 0.1, 1, 0).threshold(1e-4),
                HARDLY_BETTER,
                1,
                1,
                0.1,
                0.1,
                0.1,
                0.01,
                0.01,
                0.01,
                0.001,
                0.001,
                1e-4);
        assertFactors(
                new Plateau(loss.by(1e-4), 0.1, 1, 0),
                HARDLY_BETTER,
                1,
                1,
                0.1,
                0.1,
                0.1,
                0.01,
                0.01,
                0.01,
                0.01,
                0.001,
                0.001);
        assertFactors(
                new Plateau(Goal.largest("accuracy"), 0.5, 1, 0).threshold(1e-4),
                new double[] {.5, .50004, .50006, .5, .5, .6, .6, .6},
                1,
                1,
                1,
                1,
                0.5,
                0.5,
                0.5,
                0.25);
    }

    /** {@code cooldown=2, factor=0.5, patience=1}; {@code min_lr=0.01}; {@code eps=1e-3}; each of the rate 1. */
    @Test
    void aPlateauCoolsDownAndEndsAsTorchDoes() {
        double[] ones = new double[12];
        Arrays.fill(ones, 1);
        Goal loss = Goal.smallest("loss");
        assertFactors(
                new Plateau(loss, 0.5, 1, 0).cooldown(2),
                ones,
                1,
                1,
                0.5,
                0.5,
                0.5,
                0.5,
                0.25,
                0.25,
                0.25,
                0.25,
                0.125,
                0.125);
        assertFactors(
                new Plateau(loss, 0.1, 0, 0.01),
                ones,
                1,
                0.1,
                0.01,
                0.01,
                0.01,
                0.01,
                0.01,
                0.01,
                0.01,
                0.01,
                0.01,
                0.01);
        assertFactors(
                new Plateau(loss, 0.1, 0, 0).leastChange(1e-3),
                ones,
                1,
                0.1,
                0.01,
                0.001,
                0.001,
                0.001,
                0.001,
                0.001,
                0.001,
                0.001,
                0.001,
                0.001);
    }

    @Test
    void theDefaultsOfTorchHaveANameAndARestGoesOnAfterAResume() {
        assertThat(Plateau.torch(Goal.smallest("loss")).cooldown(3).toString())
                .contains("factor 0.1", "patience 10", "threshold 1.0E-4", "cooldown 3", "least change 1.0E-8");

        Plateau before = new Plateau(Goal.smallest("loss"), 0.5, 0, 0).cooldown(2);
        assertFactors(before, new double[] {1, 1}, 1, 0.5);
        Plateau after = new Plateau(Goal.smallest("loss"), 0.5, 0, 0).cooldown(2);
        after.loadState(before.saveState());
        assertFactors(after, new double[] {1, 1, 1}, 0.5, 0.5, 0.25);
    }
}
