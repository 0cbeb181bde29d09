package io.hvd.train.log;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.data.DataLoader;
import io.hvd.data.Dataset;
import io.hvd.data.ElasticSampler;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.ArrayParameters;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.optimizer.Sgd;
import io.hvd.train.EarlyStop;
import io.hvd.train.EpochMetrics;
import io.hvd.train.Goal;
import io.hvd.train.Training;
import io.hvd.train.TrainingLoop;
import io.hvd.train.checkpoint.AutoResume;
import io.hvd.train.checkpoint.Checkpoints;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(60)
class RunLogTest {
    private static final RunDescription MINE = new RunDescription("tiny", Map.of("lr", "0.5", "api-token", "abc"));

    @TempDir
    Path folder;

    private RunCard card() throws IOException {
        return RunCardFile.in(folder).read();
    }

    private static void train(HvdContext hvd, RunLog log, int firstEpoch, int epochs) {
        float[] gradient = {0};
        ArrayParameters one = new ArrayParameters().add("w", new float[] {0}, gradient);
        DistributedOptimizer optimizer =
                DistributedOptimizer.wrap(new Sgd(one, 0.5)).build();
        TrainingLoop.of(hvd, optimizer)
                .firstEpoch(firstEpoch)
                .with(new LogScalars(log, 8))
                .run(epochs, List.of(1, 2, 3), 3, (batch, training) -> {
                    optimizer.zeroGradients();
                    gradient[0] = batch;
                    optimizer.step();
                    training.metrics().add("loss", batch * (1.0 + hvd.rank()), 1);
                });
    }

    @Test
    void theCardOfALoopHasEveryRanksFiguresAndTheMeansOfEachEpoch() throws Exception {
        Hvd.spawn(2, hvd -> {
            try (RunLog log = RunLog.open(hvd, folder, MINE)) {
                return log.during(() -> {
                    train(hvd, log, 0, 2);
                    return 0;
                });
            }
        });
        RunCard card = card();
        assertThat(card.exit().state()).isEqualTo("finished");
        assertThat(card.epochs()).extracting(RunCard.EpochRow::step).containsExactly(3L, 6L);
        assertThat(card.epochs()).extracting(row -> row.metrics().get("loss")).containsExactly(3.0, 3.0);
        assertThat(card.ranks()).extracting(row -> row.total().samples()).containsExactly(48L, 48L);
        assertThat(card.ranks())
                .allMatch(row -> row.total().peakMemoryMib() > 0 && row.total().exchangeSeconds() > 0);
        assertThat(card.summary().samplesPerSecond()).isPositive();
        assertThat(card.versions()).containsKeys("Java", "hvd", "back end");
        assertThat(card.parameters()).containsEntry("lr", "0.5").containsEntry("api-token", "***");
        assertThat(Files.readString(folder.resolve("scalars.csv"))).contains("share of exchange/rank 1", ",6,loss,3.0");
        assertThat(Files.readAllLines(folder.resolve("scalars.csv")).stream().skip(1))
                .as("seconds that a spreadsheet reads")
                .allMatch(line -> line.matches("\\d{10}(\\.\\d+)?,.*"));
    }

    /** The gradient of rank r in step s is s and then 10 r more; both ranks have 1, 2 and 3 steps twice. */
    @Test
    void withinAnEpochThereAreCurvesOfTheLossTheRateAndTheNormOfTheAveragedGradient() throws Exception {
        Hvd.spawn(2, hvd -> {
            float[] gradient = {0};
            ArrayParameters one = new ArrayParameters().add("w", new float[] {0}, gradient);
            try (RunLog log = RunLog.open(hvd, folder, MINE)) {
                var optimizer = DistributedOptimizer.wrap(new Sgd(one, 0.5)).build();
                return log.during(() -> TrainingLoop.of(hvd, optimizer)
                        .with(new LogScalars(log, 8).everySteps(2).withGradientNorm())
                        .run(2, List.of(1, 2, 3), 3, (batch, training) -> {
                            optimizer.zeroGradients();
                            gradient[0] = batch + 10 * hvd.rank();
                            optimizer.step();
                            training.metrics().add("loss", batch + 10 * hvd.rank(), 1);
                        }));
            }
        });
        assertThat(curve("steps/loss")).containsExactly("2,6.5", "4,6.0", "6,7.5");
        assertThat(curve("steps/learning rate")).containsExactly("2,0.5", "4,0.5", "6,0.5");
        assertThat(curve("steps/gradient norm")).containsExactly("2,7.0", "4,6.0", "6,8.0");
        assertThat(curve("loss")).containsExactly("3,7.0", "6,7.0");
        assertThat(card().exit().why()).isEqualTo("finished");
    }

    /** Rank 1 has nothing but a repetition in its second batch, and both have one in the third. */
    @Test
    void aBatchOfWhichNoSampleCountsIsNoMissingMetric() throws Exception {
        threeSteps((hvd, batch, metrics) -> {
            int counted = batch + hvd.rank() < 3 ? 1 : 0;
            metrics.add("loss", batch * counted, counted);
            metrics.add("batches", 1, 1);
        });
        assertThat(curve("steps/loss")).containsExactly("1,1.0", "2,2.0");
        assertThat(curve("steps/batches")).containsExactly("1,1.0", "2,1.0", "3,1.0");
    }

    /** Rank r has the metric "seldom" in step 1 + r; at the end of the epoch both have it. */
    @Test
    void aMetricThatIsNotYetOnAllRanksHasItsCurve() throws Exception {
        threeSteps((hvd, batch, metrics) -> {
            metrics.add("loss", batch, 1);
            if (batch == 1 + hvd.rank()) {
                metrics.add("seldom", batch, 1);
            }
        });
        assertThat(curve("steps/seldom")).containsExactly("1,1.0", "2,2.0");
        assertThat(curve("seldom")).containsExactly("3,1.5");
    }

    @Test
    void whatTheLauncherTellsItsRanksIsNoSettingOfTheRun() {
        Map<String, String> environment = new HashMap<>();
        environment.put("HVD_FAILURE_DIR", "/tmp/x");
        environment.put("HVD_DECLARED_JOB", "2 1 -np 2");
        environment.put("HVD_LAUNCHER_ADDRESS", "0123@10.0.0.1/9");
        environment.put("HVD_RENDEZVOUS", "launcher=0123@10.0.0.1/9");
        environment.put("HVD_SECRET", "hush");
        environment.put("HOROVOD_CYCLE_TIME", "5");

        List<RunCard.SettingRow> rows =
                Hvd.spawn(1, hvd -> RunFacts.settings(hvd, environment)).get(0);

        assertThat(rows).extracting(RunCard.SettingRow::name).containsExactly("HOROVOD_CYCLE_TIME");
    }

    private interface Metering {
        void add(HvdContext hvd, int batch, EpochMetrics metrics);
    }

    /** Two ranks, with curves by step. */
    private void threeSteps(Metering metering) {
        Hvd.spawn(2, hvd -> {
            try (RunLog log = RunLog.open(hvd, folder, MINE)) {
                var optimizer = DistributedOptimizer.wrap(
                                new Sgd(new ArrayParameters().add("w", new float[] {0}, new float[1]), 0.5))
                        .build();
                return log.during(() -> TrainingLoop.of(hvd, optimizer)
                        .with(new LogScalars(log, 8).everySteps(1))
                        .run(1, List.of(1, 2, 3), 3, (batch, training) -> {
                            optimizer.step();
                            metering.add(hvd, batch, training.metrics());
                        }));
            }
        });
    }

    private List<String> curve(String tag) throws IOException {
        try (var lines = Files.lines(folder.resolve("scalars.csv"))) {
            return lines.filter(line -> line.contains("," + tag + ","))
                    .map(line -> line.replaceFirst("^[^,]*,", "").replace("," + tag, ""))
                    .toList();
        }
    }

    @Test
    void ranksThatWriteInDifferentStepsAreRefusedBeforeTheFirst() {
        assertThatThrownBy(() -> Hvd.spawn(2, hvd -> {
                    var optimizer = DistributedOptimizer.wrap(
                                    new Sgd(new ArrayParameters().add("w", new float[] {0}, new float[1]), 0.5))
                            .build();
                    try (RunLog log = RunLog.open(hvd, folder, MINE)) {
                        return TrainingLoop.of(hvd, optimizer)
                                .with(new LogScalars(log, 8).everySteps(2 + hvd.rank()))
                                .run(1, List.of(1), 1, (batch, training) -> optimizer.step());
                    }
                }))
                .hasStackTraceContaining("LogScalars.everySteps");
    }

    @Test
    void aLoopThatLeavesInTheMiddleOfAnEpochIsStoppedOnTheCardAndNotFinished() throws Exception {
        Hvd.spawn(2, hvd -> {
            try (RunLog log = RunLog.open(hvd, folder, MINE)) {
                return log.during(() -> {
                    var optimizer = DistributedOptimizer.wrap(
                                    new Sgd(new ArrayParameters().add("w", new float[] {0}, new float[1]), 0.5))
                            .build();
                    return TrainingLoop.of(hvd, optimizer)
                            .with(new LogScalars(log, 8))
                            .run(2, List.of(1, 2, 3), 3, (batch, training) -> {
                                if (batch == 2) {
                                    training.leave("the time is over");
                                }
                            });
                });
            }
        });
        assertThat(card().exit())
                .isEqualTo(new RunCard.Exit("stopped", null, "the time is over", "left by a callback"));
    }

    @Test
    void aResumedRunKeepsTheEpochsOfItsCheckpointAndBothStarts() throws Exception {
        Hvd.spawn(2, hvd -> {
            RunLog killed = RunLog.open(hvd, folder, MINE);
            train(hvd, killed, 0, 3);
            return 0;
        });
        assertThat(card().exit().state()).isEqualTo("running");

        Hvd.spawn(2, hvd -> {
            try (RunLog log = RunLog.resume(hvd, folder, MINE, 6)) {
                return log.during(() -> {
                    train(hvd, log, 2, 4);
                    return 0;
                });
            }
        });
        assertThat(card().starts()).hasSize(2);
        assertThat(card().epochs()).extracting(RunCard.EpochRow::epoch).containsExactly(1, 2, 3, 4);
        assertThat(card().epochs()).extracting(RunCard.EpochRow::step).containsExactly(3L, 6L, 9L, 12L);
    }

    /** Two ranks have 3 steps per epoch; the program leaves after step 4, and goes on. */
    @Test
    void theStepsOfARunThatAutoResumeGoesOnWithAreCountedOnce() throws Exception {
        Path checkpoints = folder.resolve("checkpoints");
        Hvd.spawn(2, hvd -> {
            try (RunLog log = RunLog.open(hvd, folder, MINE)) {
                return log.during(() -> resumable(hvd, log, checkpoints, 4, 5));
            }
        });
        assertThat(card().exit().state()).isEqualTo("stopped");
        Hvd.spawn(2, hvd -> {
            try (RunLog log = RunLog.resume(hvd, folder, MINE, 4)) {
                return log.during(() -> resumable(hvd, log, checkpoints, 0, 5));
            }
        });
        assertThat(card().exit().state()).isEqualTo("finished");
        assertThat(card().epochs()).extracting(RunCard.EpochRow::step).containsExactly(3L, 6L, 9L);
    }

    @Test
    void aRunThatAnEarlyStopHasEndedIsFinishedAlsoWhenItIsStartedAgain() throws Exception {
        Path checkpoints = folder.resolve("checkpoints");
        for (int start = 0; start < 2; start++) {
            int stepsDone = start * 6;
            Hvd.spawn(2, hvd -> {
                try (RunLog log = RunLog.resume(hvd, folder, MINE, stepsDone)) {
                    return log.during(() -> resumable(hvd, log, checkpoints, 0, 1));
                }
            });
            assertThat(card().exit().state()).as("start %d", start).isEqualTo("finished");
            assertThat(card().exit().why()).as("start %d", start).isEqualTo("stopped early");
            assertThat(card().exit().message()).contains("\"loss\" has not become better than 1.0");
            assertThat(card().epochs()).extracting(RunCard.EpochRow::step).containsExactly(3L, 6L);
        }
    }

    /** The loss does not become better. @param leaveAfter 0 for never @param patience of the early stop */
    private static Training resumable(HvdContext hvd, RunLog log, Path folder, int leaveAfter, int patience)
            throws IOException {
        DistributedOptimizer optimizer = DistributedOptimizer.wrap(
                        new Sgd(new ArrayParameters().add("w", new float[] {0}, new float[1]), 0.5))
                .build();
        ElasticSampler sampler =
                ElasticSampler.builder(12, hvd.size(), hvd.rank()).build();
        EarlyStop stop = new EarlyStop(Goal.smallest("loss"), patience);
        Dataset<Integer> numbers = Dataset.of(IntStream.range(0, 12).boxed().toList());
        try (var loader = DataLoader.<Integer, List<Integer>>builder(numbers, sampler, List::copyOf)
                        .batchSize(2)
                        .build();
                Checkpoints checkpoints = Checkpoints.in(folder, hvd, optimizer)
                        .with("sampler", sampler)
                        .with("stop", stop)
                        .build()) {
            return TrainingLoop.of(hvd, optimizer)
                    .with(new LogScalars(log, 2))
                    .with(AutoResume.everySteps(100, checkpoints, sampler))
                    .with(stop)
                    .run(3, loader, (batch, training) -> {
                        optimizer.step();
                        training.metrics().add("loss", 1, 1);
                        if (training.steps() + 1 == leaveAfter) {
                            training.leave("the time is over");
                        }
                    });
        }
    }

    private long losses() throws IOException {
        try (var lines = Files.lines(folder.resolve("scalars.jsonl"))) {
            return lines.filter(line -> line.contains("\"loss\"")).count();
        }
    }

    /** The two documented pieces together; the number that the program may give does not matter. */
    @ParameterizedTest
    @ValueSource(longs = {-1, 0, 99})
    void besideAutoResumeTheRecordGoesOnWhereTheCheckpointDoes(long given) throws Exception {
        Path checkpoints = folder.resolve("checkpoints");
        int[] expected = {1, 3, 3};
        for (int start = 0; start < expected.length; start++) {
            int leaveAfter = start == 0 ? 4 : 0;
            long claimed = start == 0 ? Math.min(given, 0) : given; // too large a number is none of the checkpoint's
            Hvd.spawn(2, hvd -> {
                try (RunLog log =
                        claimed < 0 ? RunLog.resume(hvd, folder, MINE) : RunLog.resume(hvd, folder, MINE, claimed)) {
                    return log.during(() -> resumable(hvd, log, checkpoints, leaveAfter, 5));
                }
            });
            assertThat(card().epochs()).as("start %d", start).hasSize(expected[start]);
            assertThat(losses()).as("start %d", start).isEqualTo(expected[start]);
            assertThat(card().starts()).hasSize(start + 1);
        }
        assertThat(card().epochs()).extracting(RunCard.EpochRow::step).containsExactly(3L, 6L, 9L);
    }

    /** As after kill -9: two epochs are recorded, and the newest checkpoint is from the middle of the second one. */
    @Test
    void epochsThatWereRecordedAfterTheCheckpointAreReplacedWhenTheyAreMadeAgain() throws Exception {
        Path checkpoints = folder.resolve("checkpoints");
        Hvd.spawn(2, hvd -> {
            try (RunLog log = RunLog.resume(hvd, folder, MINE)) {
                return log.during(() -> resumable(hvd, log, checkpoints, 4, 5));
            }
        });
        Hvd.spawn(2, hvd -> {
            RunLog killed = RunLog.resume(hvd, folder, MINE, 4);
            killed.epochEnds(1, 6, Map.of("loss", 9.0));
            assertThat(killed.stepsBefore()).isEqualTo(4);
            return 0;
        });
        assertThat(losses()).isEqualTo(2);
        Hvd.spawn(2, hvd -> {
            try (RunLog log = RunLog.resume(hvd, folder, MINE)) {
                return log.during(() -> resumable(hvd, log, checkpoints, 0, 5));
            }
        });
        assertThat(card().epochs()).extracting(RunCard.EpochRow::step).containsExactly(3L, 6L, 9L);
        assertThat(card().epochs()).extracting(row -> row.metrics().get("loss")).containsExactly(1.0, 1.0, 1.0);
        assertThat(losses()).isEqualTo(3);
    }

    @Test
    void aRunThatBeginsAtItsFirstStepKeepsTheRecordThatItFindsInAFolderBesideItsOwn() throws Exception {
        for (int run = 0; run < 3; run++) {
            int epochs = run + 1;
            Hvd.spawn(2, hvd -> {
                try (RunLog log = RunLog.resume(hvd, folder, MINE)) {
                    return log.during(() -> {
                        train(hvd, log, 0, epochs);
                        return 0;
                    });
                }
            });
        }
        assertThat(card().epochs()).hasSize(3);
        assertThat(card().starts()).hasSize(1);
        assertThat(losses()).isEqualTo(3);
        for (int run = 1; run <= 2; run++) {
            Path earlier = folder.resolve("earlier-" + run);
            RunCard kept = RunCardFile.in(earlier).read();
            assertThat(kept.epochs()).hasSize(run);
            assertThat(kept.exit().state()).isEqualTo("finished");
            assertThat(Files.readString(earlier.resolve("scalars.csv"))).contains(",loss,");
            assertThat(earlier.toFile().list()).anyMatch(name -> name.startsWith("events.out.tfevents"));
        }
    }

    @Test
    void aLoopOfOnesOwnThatDoesNotSayWhereItGoesOnIsRefusedAndNothingIsErased() throws Exception {
        Hvd.spawn(2, hvd -> {
            try (RunLog log = RunLog.open(hvd, folder, MINE)) {
                log.epochEnds(0, 5, Map.of("loss", 1.0));
                log.epochEnds(1, 10, Map.of("loss", 1.0));
            }
            return 0;
        });
        assertThatThrownBy(() -> Hvd.spawn(2, hvd -> {
                    try (RunLog log = RunLog.resume(hvd, folder, MINE)) {
                        log.epochEnds(1, 10, Map.of("loss", 2.0));
                    }
                    return 0;
                }))
                .hasStackTraceContaining("ends with step 10")
                .hasStackTraceContaining("goes to step 10")
                .hasStackTraceContaining("goesOnAfter");
        assertThat(losses()).isEqualTo(2);
        Hvd.spawn(2, hvd -> {
            try (RunLog log = RunLog.resume(hvd, folder, MINE)) {
                log.goesOnAfter(5);
                log.epochEnds(1, 10, Map.of("loss", 3.0));
            }
            return 0;
        });
        assertThat(card().epochs()).extracting(row -> row.metrics().get("loss")).containsExactly(1.0, 3.0);
    }

    @Test
    void aSecondLoopGoesOnBehindTheFirstOne() throws Exception {
        Hvd.spawn(2, hvd -> {
            try (RunLog log = RunLog.open(hvd, folder, MINE)) {
                train(hvd, log, 0, 2);
                train(hvd, log, 0, 1);
            }
            return 0;
        });
        assertThat(card().epochs()).extracting(RunCard.EpochRow::step).containsExactly(3L, 6L, 9L);
        assertThat(folder.resolve("earlier-1")).doesNotExist();
    }

    @Test
    void aFailureIsOnTheCardWithItsNumberAndGoesOn() throws Exception {
        Hvd.spawn(1, hvd -> {
            try (RunLog log = RunLog.open(hvd, folder, MINE)) {
                assertThatThrownBy(() -> log.during(() -> {
                            throw new HvdException(ErrorId.DIVERGED, "layer 3");
                        }))
                        .hasMessageContaining("layer 3");
            }
            return 0;
        });
        assertThat(card().exit().state()).isEqualTo("failed");
        assertThat(card().exit().error()).isEqualTo("HVD-403");
    }
}
