package io.hvd.train;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.data.DataLoader;
import io.hvd.data.Dataset;
import io.hvd.data.DistributedSampler;
import io.hvd.error.HvdException;
import io.hvd.optimizer.ArrayParameters;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.optimizer.Sgd;
import io.hvd.tensor.JoinDivisor;
import io.hvd.testing.StandardError;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The lines of a loop while it trains, and the reason of its end. */
@Timeout(60)
class WhileItTrainsTest {
    private static final List<Integer> FOUR = List.of(1, 2, 3, 4);

    private static DistributedOptimizer optimizer() {
        return DistributedOptimizer.wrap(new Sgd(new ArrayParameters().add("w", new float[] {0}, new float[] {1}), 0.5))
                .build();
    }

    /** Two epochs of four batches; the loss is the batch's number, and ten more on each rank. */
    private static Training run(HvdContext hvd, TrainingLoop loop) {
        return loop.run(2, FOUR, FOUR.size(), (batch, training) -> {
            training.optimizer().step();
            training.metrics().add("loss", batch + 10.0 * hvd.rank(), 1);
        });
    }

    @Test
    void everySoManyStepsTheFirstRankTellsItsLossItsRateAndHowLongTheEpochStillTakes() {
        List<List<String>> lines = Hvd.spawn(2, hvd -> {
            List<String> mine = new ArrayList<>();
            AtomicLong seconds = new AtomicLong();
            Logging logging = new Logging(mine::add, null, () -> 1_000_000_000L * 40 * seconds.getAndIncrement());
            run(hvd, TrainingLoop.of(hvd, optimizer()).with(logging.everySteps(2)));
            return mine;
        });
        assertThat(lines.get(1)).isEmpty();
        assertThat(lines.get(0)).hasSize(6);
        assertThat(lines.get(0).get(0))
                .isEqualTo("epoch 1/2, step 2/4: 40 s left, 0.1 steps/s, loss 1.5000, learning rate 0.5");
        assertThat(lines.get(0).get(1))
                .startsWith("epoch 1/2, step 4/4: 0 s left, ")
                .endsWith(" steps/s, loss 3.5000, learning rate 0.5");
        assertThat(lines.get(0).get(2)).startsWith("epoch 1/2: loss 7.5000, learning rate 0.5, ");
        assertThat(lines.get(0).get(3)).startsWith("epoch 2/2, step 2/4: ");
    }

    @Test
    void onATerminalOneLineIsWrittenOverItselfAndStaysWhereItEnds() {
        ByteArrayOutputStream screen = new ByteArrayOutputStream();
        List<String> lines = new ArrayList<>();
        AtomicLong seconds = new AtomicLong();
        Hvd.spawn(1, hvd -> {
            PrintStream terminal = new PrintStream(screen, true, StandardCharsets.UTF_8);
            Logging logging = new Logging(lines::add, terminal, () -> 1_000_000_000L * seconds.getAndIncrement());
            return run(hvd, TrainingLoop.of(hvd, optimizer()).with(logging.everySteps(100)));
        });
        List<String> shown = List.of(screen.toString(StandardCharsets.UTF_8).split(System.lineSeparator()));
        assertThat(shown).hasSize(2).allMatch(line -> line.startsWith("\repoch "));
        String[] first = shown.get(0).split("\r");
        assertThat(first).hasSize(5);
        assertThat(first[1])
                .startsWith("epoch 1/2 [=====               ] 1/4, 6 s left, 0.5 steps/s, loss 1.0000, ")
                .hasSize(79);
        assertThat(first[4])
                .startsWith("epoch 1/2 [====================] 4/4, 0 s left, ")
                .contains("loss 4.0000");
        assertThat(lines).hasSize(2);
    }

    @Test
    void theLineOfAnEpochBeginsAnewWhereRanksThatJoinHaveMadeItsLastBatches() {
        ByteArrayOutputStream screen = new ByteArrayOutputStream();
        Hvd.spawn(2, hvd -> {
            PrintStream terminal = new PrintStream(screen, true, StandardCharsets.UTF_8);
            AtomicLong seconds = new AtomicLong();
            Logging logging =
                    new Logging(terminal::println, terminal, () -> 1_000_000_000L * seconds.getAndIncrement());
            List<Integer> mine = hvd.rank() == 0 ? FOUR.subList(0, 2) : FOUR;
            return TrainingLoop.of(hvd, optimizer())
                    .with(logging.everySteps(1))
                    .join(JoinDivisor.ACTIVE)
                    .run(
                            1,
                            mine,
                            mine.size(),
                            (batch, training) -> training.optimizer().step());
        });
        assertThat(screen.toString(StandardCharsets.UTF_8).lines().filter(line -> line.startsWith("epoch 1/1: ")))
                .hasSize(1);
    }

    @Test
    void whyALoopHasEndedInAnEpochBeginsALineOfTheTerminal() throws Exception {
        String said = StandardError.during(() -> Hvd.spawn(
                1,
                hvd -> run(
                        hvd,
                        TrainingLoop.of(hvd, optimizer())
                                .with(new Logging(line -> {}, System.err, System::nanoTime).everySteps(1))
                                .maxSteps(2))));
        assertThat(said.lines().filter(line -> line.contains("the training has ended")))
                .singleElement()
                .asString()
                .doesNotContain("epoch 1/2 [");
    }

    @Test
    void aTerminalIsNotWrittenToMoreThanFiveTimesASecond() {
        ByteArrayOutputStream screen = new ByteArrayOutputStream();
        Hvd.spawn(1, hvd -> {
            PrintStream terminal = new PrintStream(screen, true, StandardCharsets.UTF_8);
            return run(
                    hvd,
                    TrainingLoop.of(hvd, optimizer()).with(new Logging(line -> {}, terminal, () -> 7).everySteps(1)));
        });
        assertThat(screen.toString(StandardCharsets.UTF_8).split("\r")).hasSize(1 + 2 * 2);
    }

    @Test
    void stepsBelowOneAreRefused() {
        assertThatThrownBy(() -> Logging.progress(0))
                .isInstanceOf(HvdException.class)
                .hasMessageContaining("everySteps(0)");
    }

    @Test
    void aLoopThatMakesAllItsEpochsSaysSoToItsCallerAndInOneLineOfTheFirstRank() throws Exception {
        String said = StandardError.during(() -> {
            List<Training> ends = Hvd.spawn(2, hvd -> run(hvd, TrainingLoop.of(hvd, optimizer())));
            assertThat(ends)
                    .extracting(Training::outcome)
                    .containsOnly(new Training.Outcome(Training.Outcome.Kind.FINISHED, 8, 2, ""));
        });
        assertThat(said.lines().filter(line -> line.contains("the training has ended")))
                .singleElement()
                .asString()
                .endsWith("finished (epochs: 2, steps: 8)");
    }

    @Test
    void whoHasCancelledStandsInTheOutcomeOfEveryRank() {
        List<Training> ends = Hvd.spawn(
                2,
                hvd -> TrainingLoop.of(hvd, optimizer()).run(2, FOUR, FOUR.size(), (batch, training) -> {
                    training.optimizer().step();
                    if (hvd.rank() == 1 && batch == 2) {
                        training.cancel("the window was closed");
                    }
                }));
        assertThat(ends).extracting(Training::outcome).allSatisfy(outcome -> {
            assertThat(outcome.kind()).isEqualTo(Training.Outcome.Kind.CANCELLED);
            assertThat(outcome.toString()).matches("cancelled after step \\d by rank 1: the window was closed \\(.*");
        });
    }

    @Test
    void aLimitOfStepsEndsAllRanksInTheMiddleOfAnEpoch() {
        List<Training> ends =
                Hvd.spawn(2, hvd -> run(hvd, TrainingLoop.of(hvd, optimizer()).maxSteps(6)));
        assertThat(ends)
                .extracting(Training::outcome)
                .containsOnly(new Training.Outcome(
                        Training.Outcome.Kind.STEP_LIMIT, 6, 1, "the limit of 6 steps is reached"));
        assertThat(ends).allMatch(Training::isLeaving);
    }

    @Test
    void aLimitThatIsReachedWithAnEpochLeavesItItsEvaluation() {
        List<Training> ends = Hvd.spawn(
                2,
                hvd -> run(
                        hvd,
                        TrainingLoop.of(hvd, optimizer())
                                .maxSteps(4)
                                .evaluation(training -> training.metrics().add("test loss", 7, 1))));
        assertThat(ends).allSatisfy(end -> {
            assertThat(end.outcome().kind()).isEqualTo(Training.Outcome.Kind.STEP_LIMIT);
            assertThat(end.epoch()).isOne();
            assertThat(end.result("test loss").mean()).isEqualTo(7);
        });
        List<Training> whole =
                Hvd.spawn(2, hvd -> run(hvd, TrainingLoop.of(hvd, optimizer()).maxSteps(8)));
        assertThat(whole).extracting(end -> end.outcome().kind()).containsOnly(Training.Outcome.Kind.FINISHED);
    }

    @Test
    void aLimitOfStepsAndRanksThatMayJoinAreRefusedTogether() {
        Hvd.spawn(1, hvd -> {
            TrainingLoop loop = TrainingLoop.of(hvd, optimizer()).maxSteps(6).join(JoinDivisor.ACTIVE);
            assertThatThrownBy(() -> run(hvd, loop)).hasMessageContainingAll("join(ACTIVE)", "maxSteps(6)");
            return null;
        });
    }

    /** Two batches make a step; a limit of five would leave the fifth one's gradient behind. */
    @Test
    void aLimitOfStepsLetsBackwardPassesHaveTheirStepFirst() {
        List<Training> ends = Hvd.spawn(
                2,
                hvd -> TrainingLoop.of(hvd, optimizer()).maxSteps(5).run(2, FOUR, FOUR.size(), (batch, training) -> {
                    if (batch % 2 == 0) {
                        training.optimizer().step();
                    }
                }));
        assertThat(ends).allSatisfy(end -> {
            assertThat(end.outcome().kind()).isEqualTo(Training.Outcome.Kind.STEP_LIMIT);
            assertThat(end.steps()).isEqualTo(6);
            assertThat(end.isBetweenPasses()).isFalse();
        });
    }

    /** An epoch of three batches ends between the passes of a step. */
    @Test
    void aLimitOfStepsLetsPassesOfTwoEpochsHaveTheirStepFirst() {
        List<Training> ends = Hvd.spawn(
                2,
                hvd -> TrainingLoop.of(hvd, optimizer()).maxSteps(3).run(2, List.of(1, 2, 3), 3, (batch, training) -> {
                    if (training.steps() % 2 == 1) {
                        training.optimizer().step();
                    }
                }));
        assertThat(ends).allSatisfy(end -> {
            assertThat(end.outcome().kind()).isEqualTo(Training.Outcome.Kind.STEP_LIMIT);
            assertThat(end.steps()).isEqualTo(4);
        });
    }

    /** Each of 3 ranks gets 3 of the 7 samples. */
    @Test
    void aPaddingMaskInALoopCountsEverySampleOnceInEachEpoch() {
        List<Training> ends = Hvd.spawn(3, hvd -> {
            DistributedSampler sampler = new DistributedSampler(7, hvd.size(), hvd.rank());
            Dataset<Integer> numbers = Dataset.of(IntStream.range(0, 7).boxed().toList());
            PaddingMask mask = new PaddingMask(sampler);
            try (var loader = DataLoader.<Integer, List<Integer>>builder(numbers, sampler, List::copyOf)
                    .batchSize(2)
                    .build()) {
                return TrainingLoop.of(hvd, optimizer()).with(mask).run(3, loader, (batch, training) -> {
                    training.optimizer().step();
                    int counted = mask.counted(batch.size());
                    double sum = batch.subList(0, counted).stream()
                            .mapToDouble(Integer::doubleValue)
                            .sum();
                    training.metrics().add("number", sum, counted);
                });
            }
        });
        assertThat(ends).extracting(end -> end.result("number")).containsOnly(new MeanMetric.Result(3, 7));
    }
}
