package io.hvd.train.checkpoint;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import io.hvd.Hvd;
import io.hvd.data.ShardRandom;
import io.hvd.data.Stateful;
import io.hvd.train.Checkpoint;
import io.hvd.train.EarlyStop;
import io.hvd.train.Goal;
import io.hvd.train.LearningRate;
import io.hvd.train.Plateau;
import io.hvd.train.SaveCheckpoint;
import io.hvd.train.Schedule;
import io.hvd.train.TerminateOnNaN;
import io.hvd.train.Training;
import java.io.IOException;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** On ranks that are threads of this JVM. */
@Timeout(120)
class AutoResumeTest {
    private static final int EPOCHS = 3;
    private static final int EVERY = 5;
    /** Four ranks with batches of two have 13 steps per epoch; this is in the middle of the second one. */
    private static final long CUT = 18;

    private static final int SHARDS = 24;

    @TempDir
    Path folder;

    private static List<LineFit> run(int ranks, Path folder, Consumer<LineFit> before, Consumer<Training> afterStep) {
        return Hvd.spawn(ranks, hvd -> {
            LineFit fit = new LineFit(hvd);
            before.accept(fit);
            try (Checkpoints checkpoints = fit.checkpoints(folder).build()) {
                fit.train(EPOCHS, EVERY, checkpoints, afterStep);
            }
            return fit;
        });
    }

    private static List<LineFit> run(int ranks, Path folder) {
        return run(ranks, folder, fit -> {}, training -> {});
    }

    /** All ranks leave in the middle of the second epoch, as a program of its own limit on steps does. */
    private static void leaveInTheSecondEpoch(Training training) {
        if (training.steps() + 1 == CUT) {
            training.leave("enough");
        }
    }

    private static List<LineFit.Seen> seen(List<LineFit> fits) {
        return fits.stream().flatMap(fit -> fit.seen.stream()).toList();
    }

    private static void assertEverySampleOnceInEachEpoch(List<LineFit.Seen> seen) {
        for (int e = 0; e < EPOCHS; e++) {
            int epoch = e;
            assertThat(seen.stream().filter(one -> one.epoch() == epoch).map(LineFit.Seen::point))
                    .as("epoch %d", epoch)
                    .containsExactlyInAnyOrderElementsOf(
                            IntStream.range(0, LineFit.POINTS).boxed().toList());
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {3, 4, 8})
    void aRunThatWasLeftInTheMiddleOfAnEpochGoesOnWithTheUnseenSamplesOnAnyNumberOfRanks(int ranks) {
        List<LineFit> uninterrupted = run(4, folder.resolve("whole"));
        Path parts = folder.resolve("parts");
        List<LineFit.Seen> all = new ArrayList<>(seen(run(4, parts, fit -> {}, AutoResumeTest::leaveInTheSecondEpoch)));
        List<LineFit> resumed = run(ranks, parts);
        all.addAll(seen(resumed));

        assertEverySampleOnceInEachEpoch(all);
        assertThat(all.stream().filter(one -> one.step() <= CUT)).hasSize(101 + 5 * 8);
        assertThat(resumed.get(0).losses).hasSize(2);
        assertThat(uninterrupted.get(0).losses).isSortedAccordingTo((a, b) -> Double.compare(b, a));
        if (ranks == 4) {
            assertThat(resumed.get(0).slope).isEqualTo(uninterrupted.get(0).slope);
            assertThat(resumed.get(0).losses)
                    .isEqualTo(uninterrupted.get(0).losses.subList(1, 3));
        } else {
            double before = uninterrupted.get(0).losses.get(0);
            assertThat(resumed.get(0).losses.get(1))
                    .isCloseTo(uninterrupted.get(0).losses.get(2), within(before / 4));
            assertThat(resumed.get(ranks - 1).slope).isEqualTo(resumed.get(0).slope);
        }
    }

    @Test
    void whenOneRankHearsTheSignalAllSaveAfterTheSameStepAndLeave() {
        List<LineFit> ended = Hvd.spawn(4, hvd -> {
            LineFit fit = new LineFit(hvd);
            try (Checkpoints checkpoints = fit.checkpoints(folder).build()) {
                Training training = fit.train(EPOCHS, 1_000, checkpoints, now -> {
                    if (hvd.rank() == 2 && now.steps() + 1 == CUT) {
                        fit.autoResume.signal().raise(); // threads share the process's own
                    }
                });
                assertThat(fit.autoResume.wasTerminated()).isTrue();
                assertThat(training.steps()).isEqualTo(CUT + 1);
                assertThat(training.epoch()).isEqualTo(1);
                assertThat(training.stopReason()).contains("SIGTERM", "step " + (CUT + 1));
            }
            return fit;
        });
        List<LineFit.Seen> all = new ArrayList<>(seen(ended));
        all.addAll(seen(run(3, folder)));
        assertEverySampleOnceInEachEpoch(all);
    }

    /** Two ranks have 26 steps per epoch. The resumed one has no batch left, and so no metric of its steps. */
    @Test
    void aRunThatEndsWithTheLastBatchOfAnEpochGoesOnWithAnEndOfThatEpochWithoutMetricsOfItsSteps() {
        List<LineFit.Seen> all = new ArrayList<>(seen(fitWithDecisionsByTheLossOfTheSteps(25)));
        assertThat(all).extracting(LineFit.Seen::epoch).containsOnly(0);
        List<LineFit> resumed = fitWithDecisionsByTheLossOfTheSteps(0);
        assertThat(resumed.get(1).losses).hasSize(EPOCHS);
        all.addAll(seen(resumed));
        assertEverySampleOnceInEachEpoch(all);
    }

    /** @param signalled the step in which rank 1 hears the signal; all leave after the next one */
    private List<LineFit> fitWithDecisionsByTheLossOfTheSteps(int signalled) {
        return Hvd.spawn(2, hvd -> {
            LineFit fit = new LineFit(hvd);
            EarlyStop stop = new EarlyStop(Goal.smallest("loss"), 5);
            Plateau plateau = new Plateau(Goal.smallest("loss"), 0.5, 5, 0);
            SaveCheckpoint best = SaveCheckpoint.best(
                    Goal.smallest("loss"),
                    folder.resolve("best"),
                    training -> new Checkpoint(new TreeMap<>(), Map.of()));
            try (Checkpoints checkpoints = fit.checkpoints(folder.resolve("series"))
                    .with("stop", stop)
                    .with("plateau", plateau)
                    .with("best_model", best)
                    .build()) {
                fit.train(
                        EPOCHS,
                        1_000,
                        checkpoints,
                        now -> {
                            now.metrics().add("loss", 1, 1);
                            if (hvd.rank() == 1 && now.steps() + 1 == signalled) {
                                fit.autoResume.signal().raise();
                            }
                        },
                        stop,
                        best,
                        new LearningRate(Schedule.fixed(0.1)).reducedOn(plateau));
            }
            return fit;
        });
    }

    /** The resumed parts are made with another seed, and get that of the first. */
    @Test
    void fourRanksThenThreeThenEightDrawTheNumbersOfOneRunOfFour() {
        Map<String, Long> whole = drawn(4, 7, Long.MAX_VALUE, folder.resolve("whole"));
        Path parts = folder.resolve("parts");
        Map<String, Long> drawn = drawn(4, 7, 10, parts);
        drawn.putAll(drawn(3, 8, 20, parts));
        drawn.putAll(drawn(8, 9, 24, parts));
        assertThat(drawn).hasSize(24 * SHARDS);
        drawn.forEach((place, number) -> assertThat(number).as(place).isEqualTo(whole.get(place)));
    }

    @Test
    void anotherNumberOfLogicalShardsIsRefusedWithBothNumbers() {
        drawn(2, 7, 10, folder);
        assertThatThrownBy(() -> Hvd.spawn(3, hvd -> {
                    LineFit fit = new LineFit(hvd);
                    try (Checkpoints checkpoints = fit.checkpoints(folder)
                            .with("random", new ShardRandom(7, 32))
                            .build()) {
                        return fit.train(EPOCHS, 1_000, checkpoints, now -> {});
                    }
                }))
                .hasStackTraceContaining(
                        "the state of a ShardRandom does not fit: its \"shards\" is \"" + SHARDS + "\", expected 32");
    }

    /** The samples that all ranks have drawn in the steps of one run. @param last step after which it leaves */
    private static Map<String, Long> drawn(int ranks, long seed, long last, Path folder) {
        Map<String, Long> all = new TreeMap<>();
        Hvd.spawn(ranks, hvd -> {
                    LineFit fit = new LineFit(hvd);
                    ShardRandom random = new ShardRandom(seed, SHARDS);
                    try (Checkpoints checkpoints =
                            fit.checkpoints(folder).with("random", random).build()) {
                        fit.train(EPOCHS, 1_000, checkpoints, now -> {
                            fit.draw(random, now.steps());
                            if (now.steps() + 1 == last) {
                                now.leave("enough");
                            }
                        });
                    }
                    return fit.drawn;
                })
                .forEach(all::putAll);
        return all;
    }

    /** A program that began to listen before it loaded its data. */
    @Test
    void aSignalThatHasComeBeforeTheLoopEndsItBeforeItsFirstBatch() throws IOException {
        Hvd.spawn(3, hvd -> {
            LineFit fit = new LineFit(hvd);
            fit.early = TerminationSignal.listen();
            if (hvd.rank() == 1) {
                fit.early.raise();
            }
            try (Checkpoints checkpoints = fit.checkpoints(folder).build()) {
                Training training = fit.train(EPOCHS, 1_000, checkpoints, now -> {});
                assertThat(fit.autoResume.wasTerminated()).isTrue();
                assertThat(training.steps()).isZero();
                assertThat(training.cancelReasons()).containsOnlyKeys(1);
            }
            return null;
        });
        assertThat(names()).isEmpty();
    }

    /** To read and to send a large model takes long. */
    @Test
    void theLoopListensBeforeItReadsACheckpoint() throws ReflectiveOperationException {
        run(1, folder, fit -> {}, training -> training.leave("enough"));
        Object own = ownHandler();
        Object before = handleTermination(own);
        List<Boolean> processEnds = new ArrayList<>();
        Stateful probe = new Stateful() {
            @Override
            public Map<String, String> saveState() {
                return Map.of();
            }

            @Override
            public void loadState(Map<String, String> state) {
                processEnds.add(handlesTermination(own));
            }
        };
        try {
            Hvd.spawn(1, hvd -> {
                LineFit fit = new LineFit(hvd);
                try (Checkpoints checkpoints =
                        fit.checkpoints(folder).with("probe", probe).build()) {
                    return fit.train(EPOCHS, EVERY, checkpoints, now -> {});
                }
            });
        } finally {
            handleTermination(before);
        }
        assertThat(processEnds).isNotEmpty().containsOnly(false);
    }

    @Test
    void aModelThatHasSeenANumberThatIsNotFiniteIsNotSavedWhenTheProgramLeavesEither() throws IOException {
        Hvd.spawn(2, hvd -> {
            LineFit fit = new LineFit(hvd);
            try (Checkpoints checkpoints = fit.checkpoints(folder).build()) {
                assertThatThrownBy(() -> fit.train(
                                EPOCHS,
                                EVERY,
                                checkpoints,
                                now -> {
                                    now.metrics().add("loss", hvd.rank() == 1 && now.steps() == 6 ? Double.NaN : 1, 1);
                                    if (now.steps() == 7) {
                                        now.leave("the time is over");
                                    }
                                },
                                new TerminateOnNaN(1_000)))
                        .hasMessageContainingAll("HVD-404", "on rank 1 \"loss\" in batch 6", "epoch 0, after 8 steps");
            }
            return null;
        });
        assertThat(names()).containsExactly("step-0000000005.safetensors");
    }

    @Test
    void aModelThatHasSeenANumberThatIsNotFiniteIsNotSavedBetweenTwoQuestionsEither() throws IOException {
        Hvd.spawn(2, hvd -> {
            LineFit fit = new LineFit(hvd);
            try (Checkpoints checkpoints = fit.checkpoints(folder).build()) {
                assertThatThrownBy(() -> fit.train(
                                EPOCHS,
                                EVERY,
                                checkpoints,
                                now -> now.metrics()
                                        .add("loss", hvd.rank() == 1 && now.steps() >= 6 ? Double.NaN : 1, 1),
                                new TerminateOnNaN(1_000)))
                        .hasMessageContainingAll("HVD-404", "on rank 1 \"loss\" in batch 6");
            }
            return null;
        });
        assertThat(names()).containsExactly("step-0000000005.safetensors");
    }

    @Test
    void aFinishedRunIsNotTrainedFurtherNorWrittenAgain() throws IOException {
        run(2, folder);
        List<String> before = names();
        List<LineFit> again = run(3, folder);
        assertThat(seen(again)).isEmpty();
        assertThat(names()).isEqualTo(before).last().isEqualTo("step-0000000078.safetensors");
    }

    @Test
    void aRunThatHasStoppedEarlyIsOverWhenItIsStartedAgain() throws IOException {
        assertThat(epochsUntilTheEarlyStop()).isEqualTo(2);
        List<String> before = names();
        assertThat(epochsUntilTheEarlyStop()).isZero();
        assertThat(names()).isEqualTo(before);
    }

    /** The loss does not become better, and one such epoch is enough. */
    private int epochsUntilTheEarlyStop() {
        return Hvd.spawn(2, hvd -> {
                    LineFit fit = new LineFit(hvd);
                    EarlyStop stop = new EarlyStop(Goal.smallest("loss"), 1);
                    try (Checkpoints checkpoints =
                            fit.checkpoints(folder).with("early_stop", stop).build()) {
                        Training end = fit.train(
                                EPOCHS,
                                EVERY,
                                checkpoints,
                                training -> training.metrics().add("loss", 1, 1),
                                stop);
                        assertThat(end.epoch()).isEqualTo(2);
                        assertThat(end.stopReason()).contains("\"loss\" has not become better than 1.0 for 1 epochs");
                    }
                    return fit.losses.size();
                })
                .get(0);
    }

    /** Whatever the order in which the program names the callbacks: a run that is killed then keeps a better model. */
    @Test
    void whatIsSavedAtTheEndOfAnEpochKnowsItsBestModel() throws IOException {
        Hvd.spawn(2, hvd -> {
            LineFit fit = new LineFit(hvd);
            SaveCheckpoint best = SaveCheckpoint.best(
                    Goal.smallest("loss"),
                    folder.resolve("best"),
                    training -> new Checkpoint(new TreeMap<>(), Map.of()));
            try (Checkpoints checkpoints =
                    fit.checkpoints(folder).with("best_model", best).build()) {
                int stepsOfAnEpoch = 26;
                fit.train(
                        2,
                        stepsOfAnEpoch,
                        checkpoints,
                        training -> training.metrics().add("loss", 1 + training.epoch(), 1),
                        best);
            }
            return null;
        });
        Path afterTheFirst = folder.resolve("step-0000000026.safetensors");
        assertThat(Checkpoint.read(afterTheFirst).metadata()).containsEntry("best_model.best", "1.0");
    }

    private List<String> names() throws IOException {
        try (var files = Files.list(folder)) {
            return files.map(file -> file.getFileName().toString()).sorted().toList();
        }
    }

    @ParameterizedTest
    @CsvSource({"0, at least 1", "-3, at least 1"})
    void aSenselessIntervalIsRefused(int steps, String expected) {
        assertThatThrownBy(() -> AutoResume.everySteps(steps, null, null)).hasMessageContaining(expected);
    }

    @Test
    void theProgressOfAResumedEpochGoesOnWhereItWasSoThatSchedulesDo() {
        List<Double> whole = new ArrayList<>();
        List<Double> parts = new ArrayList<>();
        run(1, folder.resolve("whole"), fit -> {}, training -> whole.add(training.progress()));
        run(1, folder.resolve("parts"), fit -> {}, training -> {
            parts.add(training.progress());
            if (training.steps() + 1 == 70) {
                training.leave("enough");
            }
        });
        run(1, folder.resolve("parts"), fit -> {}, training -> parts.add(training.progress()));
        assertThat(parts).hasSameSizeAs(whole);
        for (int i = 0; i < whole.size(); i++) {
            assertThat(parts.get(i)).as("step %d", i).isCloseTo(whole.get(i), within(0.01));
        }
    }

    /** Were it not, a process whose loop has thrown would no longer end at the signal. */
    @Test
    void aLoopThatThrowsGivesTheSignalBack() throws ReflectiveOperationException {
        Object own = ownHandler();
        Object before = handleTermination(own);
        try {
            assertThatThrownBy(() -> run(1, folder, fit -> {}, training -> {
                        assertThat(handlesTermination(own)).isFalse();
                        throw new IllegalStateException("no more data");
                    }))
                    .rootCause()
                    .hasMessage("no more data");
            assertThat(handlesTermination(own)).isTrue();
        } finally {
            handleTermination(before);
        }
    }

    private static Object ownHandler() throws ReflectiveOperationException {
        return Proxy.newProxyInstance(
                AutoResumeTest.class.getClassLoader(),
                new Class<?>[] {Class.forName("sun.misc.SignalHandler")},
                (proxy, method, arguments) -> null);
    }

    private static boolean handlesTermination(Object handler) {
        try {
            Object now = handleTermination(handler);
            handleTermination(now);
            return now == handler;
        } catch (ReflectiveOperationException e) {
            throw new AssertionError(e);
        }
    }

    /** Returns the handler before. */
    private static Object handleTermination(Object handler) throws ReflectiveOperationException {
        Class<?> signal = Class.forName("sun.misc.Signal");
        return signal.getMethod("handle", signal, Class.forName("sun.misc.SignalHandler"))
                .invoke(null, signal.getConstructor(String.class).newInstance("TERM"), handler);
    }

    /** /proc lets nobody make a folder, root neither. */
    @Test
    void aFolderThatCannotBeWrittenShowsBeforeTheFirstStep() {
        List<Long> steps = Collections.synchronizedList(new ArrayList<>());
        assertThatThrownBy(() ->
                        run(2, Path.of("/proc/hvd-checkpoints"), fit -> {}, training -> steps.add(training.steps())))
                .hasStackTraceContaining("HVD-502")
                .hasStackTraceContaining("can be written to /proc/hvd-checkpoints");
        assertThat(steps).isEmpty();
    }
}
