package io.hvd.train;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.InitOptions;
import io.hvd.ProcessSet;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.AmpOptimizer;
import io.hvd.optimizer.ArrayParameters;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.optimizer.GradScaler;
import io.hvd.optimizer.Sgd;
import io.hvd.optimizer.ShardedOptimizer;
import io.hvd.tensor.Tensor;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Loops on ranks as threads; a rank that decided for itself would leave the others waiting, until the time limit. */
@Timeout(60)
class TrainingLoopTest {
    private static final List<Integer> BATCHES = List.of(0, 1, 2, 3);

    @TempDir
    Path folder;

    /** One weight, which a step moves against its gradient. */
    private static final class OneWeight {
        final float[] weight = {0};
        final float[] gradient = {0};
        final ArrayParameters parameters = new ArrayParameters().add("w", weight, gradient);
        final DistributedOptimizer optimizer =
                DistributedOptimizer.wrap(new Sgd(parameters, 1)).build();

        void step(double gradientOfThisRank) {
            optimizer.zeroGradients();
            gradient[0] = (float) gradientOfThisRank;
            optimizer.step();
        }
    }

    /** Runs as many epochs as there are losses, which are those of this rank. */
    private static Training withLosses(HvdContext hvd, Callback callback, double... losses) {
        OneWeight mine = new OneWeight();
        return TrainingLoop.of(hvd, mine.optimizer)
                .with(callback)
                .evaluation(training -> training.metrics().add("loss", losses[training.epoch()], 1))
                .run(losses.length, BATCHES, BATCHES.size(), (batch, training) -> mine.step(batch));
    }

    @Test
    void theRanksStopTogetherByTheMeanThoughOneWouldStopAlone() {
        List<Training> ends = Hvd.spawn(2, hvd -> {
            double[] better = {9, 8, 5, 4, 3.5, 3.5, 3.5, 3.5};
            double[] worse = {1, 1.5, 2, 2, 2, 2, 2, 2}; // alone it would stop after the third epoch
            return withLosses(hvd, new EarlyStop(Goal.smallest("loss"), 2), hvd.rank() == 0 ? better : worse);
        });

        assertThat(ends).allSatisfy(end -> {
            assertThat(end.epoch()).isEqualTo(7);
            assertThat(end.steps()).isEqualTo(28);
            assertThat(end.result("loss")).isEqualTo(new MeanMetric.Result(2.75, 2));
            assertThat(end.stopReason()).isEqualTo("\"loss\" has not become better than 2.75 for 2 epochs, it is 2.75");
        });
    }

    @Test
    void aMetricOfLargestIsBestWhenItGrowsAndANaNIsNoImprovement() {
        List<Training> ends = Hvd.spawn(
                2,
                hvd -> withLosses(
                        hvd, new EarlyStop(Goal.largest("loss").by(0.5), 2), Double.NaN, 1, 2, 2.4, Double.NaN, 9, 9));

        assertThat(ends).allSatisfy(end -> assertThat(end.epoch()).isEqualTo(5));
    }

    @Test
    void oneRankThatAsksForAnEndEndsAllAfterTheEpoch() {
        List<Training> ends = Hvd.spawn(
                3,
                hvd -> withLosses(
                        hvd,
                        new Callback() {
                            @Override
                            public void batchEnds(Training training) {
                                if (hvd.rank() == 1 && training.steps() == 5) {
                                    training.stop("enough");
                                }
                            }
                        },
                        1,
                        1,
                        1,
                        1));

        assertThat(ends).extracting(Training::epoch).containsOnly(2);
        assertThat(ends)
                .extracting(Training::stopReason)
                .containsExactly("ranks [1] have asked for it", "enough", "ranks [1] have asked for it");
    }

    /** Ranks 0, 1 and 2 have 1, 2 and 0 samples. */
    @Test
    void oneRankThatAsksForAnEndBeforeTheFirstBatchEndsAllWithoutOne() {
        List<Training> ends = Hvd.spawn(
                3,
                hvd -> withLosses(
                        hvd,
                        new Callback() {
                            @Override
                            public void trainingBegins(Training training) {
                                if (hvd.rank() == 1) {
                                    training.stop("no data");
                                }
                            }
                        },
                        1,
                        1));

        assertThat(ends).extracting(Training::steps).containsOnly(0L);
        assertThat(ends)
                .extracting(Training::stopReason)
                .containsExactly("ranks [1] have asked for it", "no data", "ranks [1] have asked for it");
    }

    @Test
    void averagesAreOverSamplesAndComeBeforeWhatUsesThem() {
        List<String> seen = Hvd.spawn(3, hvd -> {
            List<String> mine = new ArrayList<>();
            OneWeight test = new OneWeight();
            TrainingLoop.of(hvd, test.optimizer)
                    .with(noting("program", Callback.Place.PROGRAM, mine))
                    .with(noting("checkpoint", Callback.Place.CHECKPOINT, mine))
                    .with(noting("decision", Callback.Place.DECISION, mine))
                    .with(noting("schedule", Callback.Place.SCHEDULE, mine))
                    .with(noting("broadcast", Callback.Place.BROADCAST, mine))
                    .evaluation(training -> {
                        mine.add("evaluation");
                        if (hvd.rank() < 2) {
                            training.metrics().add("loss", hvd.rank() == 0 ? 9 : 3, 1 + hvd.rank());
                        }
                    })
                    .run(1, BATCHES, 4, (batch, training) -> test.step(1));
            return String.join(" ", mine);
        });

        assertThat(seen).containsOnly("evaluation broadcast:4.0 schedule:4.0 decision:4.0 checkpoint:4.0 program:4.0");
    }

    private static Callback noting(String name, Callback.Place place, List<String> into) {
        return new Callback() {
            @Override
            public Place place() {
                return place;
            }

            @Override
            public void epochEnds(Training training) {
                into.add(name + ":" + training.result("loss").mean());
            }
        };
    }

    @Test
    void theRateFollowsScheduleAndPlateauAlikeOnAllRanks() {
        Hvd.spawn(2, hvd -> {
            List<Double> rates = new ArrayList<>();
            OneWeight test = new OneWeight();
            double[] losses = {3, 4, 4, 4};
            TrainingLoop.of(hvd, test.optimizer)
                    .with(new LearningRate(Schedule.fixed(0.5).warmUp(2, 1))
                            .reducedOn(new Plateau(Goal.smallest("loss"), 0.5, 1, 0)))
                    .evaluation(training -> training.metrics()
                            .add("loss", hvd.rank() == 0 ? losses[training.epoch()] : 0.1 * training.epoch(), 1))
                    .run(4, BATCHES, 4, (batch, training) -> {
                        rates.add(test.optimizer.learningRate());
                        test.step(1);
                    });
            assertThat(rates.subList(0, 5)).containsExactly(0.25, 0.3125, 0.375, 0.4375, 0.5);
            assertThat(rates.subList(5, 12)).containsOnly(0.5);
            assertThat(rates.subList(12, 16)).containsOnly(0.25);
            return null;
        });
    }

    @Test
    void allRanksStartWithTheParametersAndTheMomentumOfTheRoot() {
        Hvd.spawn(3, hvd -> {
            OneWeight test = new OneWeight();
            test.weight[0] = hvd.rank();
            test.optimizer.learningRate(hvd.rank());
            TrainingLoop.of(hvd, test.optimizer)
                    .with(new BroadcastState(2))
                    .run(1, BATCHES, 4, (batch, training) -> test.step(0.5));
            assertThat(test.weight[0]).isEqualTo(2 - 4 * 2 * 0.5f); // rank 2 is the root, and its learning rate is 2
            return null;
        });
    }

    @Test
    void theBestModelIsThatOfTheBestMeanAndRankZeroAloneWritesIt() throws IOException {
        Path file = folder.resolve("best.safetensors");
        List<Integer> made = new ArrayList<>();
        Hvd.spawn(2, hvd -> {
            double[] accuracies = hvd.rank() == 0 ? new double[] {5, 1, 2, 1} : new double[] {1, 2, 6, 3};
            OneWeight mine = new OneWeight();
            ShardedOptimizer sharded =
                    ShardedOptimizer.ofArrays(hvd, mine.parameters, share -> new Sgd(share, 1, 0.5, 0));
            DistributedOptimizer optimizer =
                    DistributedOptimizer.wrap(sharded).scope("own").build();
            SaveCheckpoint.Content content = training -> {
                made.add(training.epoch());
                TreeMap<String, Tensor> tensors = new TreeMap<>(Map.of("w", Tensor.of(mine.weight)));
                return new Checkpoint(tensors, Map.of("epochs", String.valueOf(training.epoch() + 1)))
                        .withState("optimizer", optimizer.wholeState());
            };
            TrainingLoop.of(hvd, optimizer)
                    .with(SaveCheckpoint.best(Goal.largest("accuracy"), file, content)
                            .after(() -> sharded.consolidate(0)))
                    .evaluation(training -> training.metrics().add("accuracy", accuracies[training.epoch()], 1))
                    .run(4, BATCHES, 4, (batch, training) -> {
                        mine.gradient[0] = 1;
                        optimizer.step();
                    });
            return null;
        });

        assertThat(made).containsExactly(0, 2);
        assertThat(Checkpoint.read(file).metadata()).containsEntry("epochs", "3");
    }

    @Test
    void everyNthEpochIsSavedCountedFromTheBeginningOfTheTraining() throws IOException {
        Path file = folder.resolve("every.safetensors");
        List<Integer> made = new ArrayList<>();
        Hvd.spawn(2, hvd -> {
            OneWeight mine = new OneWeight();
            return TrainingLoop.of(hvd, mine.optimizer)
                    .with(SaveCheckpoint.everyEpochs(3, file, training -> {
                        made.add(training.epoch() + 1);
                        return new Checkpoint(new TreeMap<>(Map.of("w", Tensor.of(mine.weight))), Map.of());
                    }))
                    .firstEpoch(2)
                    .run(8, BATCHES, 4, (batch, training) -> mine.step(-1));
        });

        assertThat(made).containsExactly(3, 6);
        assertThat(Checkpoint.read(file).tensors().get("w").toFloatArray()).containsExactly(16);
    }

    @Test
    void mixedPrecisionStartsFromTheRootTooAndAnotherOptimizerIsRefused() {
        Hvd.spawn(2, hvd -> {
            OneWeight mine = new OneWeight();
            mine.weight[0] = hvd.rank();
            GradScaler scaler =
                    GradScaler.builder().initScale(hvd.rank() == 1 ? 4 : 8).build();
            AmpOptimizer amp = AmpOptimizer.wrap(mine.optimizer).scaler(scaler).build();
            TrainingLoop.of(hvd, amp).with(new BroadcastState(1)).run(1, List.of(0), 1, (batch, training) -> {
                amp.zeroGradients();
                amp.backward(scale -> mine.gradient[0] = (float) (0.5 * scale));
                amp.step();
            });
            assertThat(mine.weight[0]).isEqualTo(0.5f);
            assertThat(amp.scaler().scale()).isEqualTo(4);

            TrainingLoop plain =
                    TrainingLoop.of(hvd, new Sgd(mine.parameters, 1)).with(new BroadcastState(0));
            assertThatThrownBy(() -> plain.run(1, BATCHES, 4, (batch, training) -> {}))
                    .hasMessageContaining("the loop's optimizer is a Sgd, expected a DistributedOptimizer");
            return null;
        });
    }

    @Test
    void callbacksThatCannotBeMeantAreRefused() {
        assertThatThrownBy(() -> new EarlyStop(Goal.smallest("loss"), 0))
                .hasMessageContaining("EarlyStop of \"loss\": patience is 0, expected at least 1");
        assertThatThrownBy(() -> Goal.smallest("loss").by(-1)).hasMessageContaining("Goal of \"loss\": by is -1.0");
        assertThatThrownBy(() -> SaveCheckpoint.everyEpochs(0, folder, training -> null))
                .hasMessageContaining("everyEpochs(0): expected at least 1");
    }

    @Test
    void aLoopThatGoesOnKnowsItsEpochAndItsProgress() {
        List<Double> progress = new ArrayList<>();
        Hvd.spawn(1, hvd -> {
            OneWeight mine = new OneWeight();
            Training end = TrainingLoop.of(hvd, mine.optimizer)
                    .firstEpoch(3)
                    .run(5, List.of("a", "b"), 2, (batch, training) -> progress.add(training.progress()));
            assertThat(end.epoch()).isEqualTo(5);
            assertThat(end.steps()).isEqualTo(4);
            return null;
        });
        assertThat(progress).containsExactly(3.0, 3.5, 4.0, 4.5);
    }

    private static final class Failing implements Callback {
        private final RuntimeException failure;

        Failing(RuntimeException failure) {
            this.failure = failure;
        }

        @Override
        public void epochEnds(Training training) {
            if (training.ranks().rank() == 1 && training.epoch() == 1) {
                throw failure;
            }
        }
    }

    /** The other ranks are told while they wait for this one's vote. */
    @Test
    void aCallbackThatThrowsOnOneRankEndsTheJobWithItsName() {
        assertThatThrownBy(() -> Hvd.spawn(
                        3, hvd -> withLosses(hvd, new Failing(new IllegalStateException("disk is full")), 1, 1, 1)))
                .isInstanceOf(HvdException.class)
                .rootCause()
                .hasMessage("disk is full");
        assertThatThrownBy(() -> Hvd.spawn(
                        3, hvd -> withLosses(hvd, new Failing(new IllegalStateException("disk is full")), 1, 1, 1)))
                .cause()
                .isInstanceOf(CallbackException.class)
                .hasMessage("the callback Failing has failed on rank 1, at the end of epoch 1 (counted from 0), after 8"
                        + " batches: disk is full");
    }

    /** Ranks 1 and 2 train without rank 0; the second of them fails. */
    @Test
    void aLoopOfSomeOfTheRanksNamesThemByTheirNumberInTheJob() {
        InitOptions some = InitOptions.standard().withProcessSets(List.of(List.of(1, 2)));
        assertThatThrownBy(() -> Hvd.spawn(3, some, hvd -> {
                    ProcessSet set = hvd.processSet(1);
                    if (!set.included()) {
                        return null;
                    }
                    OneWeight mine = new OneWeight();
                    DistributedOptimizer own = DistributedOptimizer.wrap(new Sgd(mine.parameters, 1))
                            .processSet(set)
                            .scope("own")
                            .build();
                    return TrainingLoop.of(set, own)
                            .with(new Failing(new IllegalStateException("disk is full")))
                            .run(3, BATCHES, 4, (batch, training) -> own.step());
                }))
                .cause()
                .hasMessage("the callback Failing has failed on rank 2, at the end of epoch 1 (counted from 0), after 8"
                        + " batches: disk is full");
    }

    @Test
    void anErrorOfHvdsKeepsItsNumber() {
        var missing = new HvdException(ErrorId.BAD_CHECKPOINT, "no header");
        assertThatThrownBy(() -> Hvd.spawn(2, hvd -> withLosses(hvd, new Failing(missing), 1, 1, 1)))
                .cause()
                .isInstanceOfSatisfying(
                        HvdException.class, e -> assertThat(e.id()).isEqualTo(ErrorId.BAD_CHECKPOINT))
                .hasMessageContaining("the callback Failing has failed on rank 1")
                .hasMessageContaining("no header");
    }

    @Test
    void ranksThatWouldNotMeetAreNamedBeforeTheFirstBatch() {
        Hvd.spawn(2, hvd -> {
            OneWeight mine = new OneWeight();
            TrainingLoop loop = TrainingLoop.of(hvd, mine.optimizer);
            if (hvd.rank() == 0) {
                loop.with(new EarlyStop(Goal.smallest("loss"), 1));
            }
            assertThatThrownBy(() -> loop.run(2 + hvd.rank(), BATCHES, 4, (batch, training) -> {}))
                    .isInstanceOfSatisfying(
                            HvdException.class, e -> assertThat(e.id()).isEqualTo(ErrorId.DIFFERENT_SETTINGS))
                    .hasMessageContainingAll("callbacks", "EarlyStop", "number of epochs", "2", "3");
            return null;
        });
    }

    @Test
    void aScheduleOfOneRankIsNamedBeforeTheFirstBatch() {
        Hvd.spawn(2, hvd -> {
            OneWeight mine = new OneWeight();
            TrainingLoop loop = TrainingLoop.of(hvd, mine.optimizer)
                    .with(new LearningRate(Schedule.factor(1, hvd.rank() == 0 ? 0.5 : 0.25)));
            assertThatThrownBy(() -> loop.run(2, BATCHES, 4, (batch, training) -> {}))
                    .hasMessageContaining("the callback LearningRate has failed")
                    .hasMessageContaining("learning rate at epoch 1.0: 0.25 on ranks [1]; 0.5 on ranks [0]");
            return null;
        });
    }

    @Test
    void dataWithAnotherNumberOfBatchesIsNamed() {
        Hvd.spawn(1, hvd -> {
            OneWeight mine = new OneWeight();
            TrainingLoop loop = TrainingLoop.of(hvd, mine.optimizer);
            assertThatThrownBy(() -> loop.run(1, BATCHES, 5, (batch, training) -> {}))
                    .hasMessageContaining("epoch 0 on rank 0: the data gave only 4 batches, expected 5");
            assertThatThrownBy(() -> loop.run(1, BATCHES, 3, (batch, training) -> {}))
                    .hasMessageContaining("the data gave more batches, expected 3");
            assertThatThrownBy(() -> loop.firstEpoch(2).run(1, BATCHES, 3, (batch, training) -> {}))
                    .hasMessageContaining("a loop from epoch 2 to 1 with 3 batches");
            return null;
        });
    }

    @Test
    void aMetricThatNobodyHasAddedIsNamedWithThoseThatThereAre() {
        assertThatThrownBy(() ->
                        Hvd.spawn(1, hvd -> withLosses(hvd, new EarlyStop(Goal.smallest("accuracy"), 1), 1, 1)))
                .cause()
                .hasMessageContaining("the callback EarlyStop")
                .hasMessageContaining("there is no metric \"accuracy\" in epoch 0")
                .hasMessageContaining("[loss]");
    }

    @Test
    void metricsOfAllRanksAreExactAndAMisspeltOneIsNamed() {
        Hvd.spawn(4, hvd -> {
            EpochMetrics metrics = new EpochMetrics();
            for (int sample = hvd.rank() * (hvd.rank() - 1) / 2; sample < hvd.rank() * (hvd.rank() + 1) / 2; sample++) {
                metrics.add("square", (double) sample * sample, 1);
                metrics.add("half", sample / 2.0, 1);
            }
            // Ranks 0 to 3 have 0 to 3 of the samples 0 to 5.
            assertThat(metrics.reduce(hvd))
                    .containsExactly(
                            Map.entry("half", new MeanMetric.Result(7.5 / 6, 6)),
                            Map.entry("square", new MeanMetric.Result(55 / 6.0, 6)));
            metrics.clear();
            metrics.add(hvd.rank() == 2 ? "Half" : "half", 1, 1);
            assertThatThrownBy(() -> metrics.reduce(hvd))
                    .hasMessageContaining("metric \"Half\" was added on some ranks, but not on ranks [0, 1, 3]")
                    .hasMessageContaining("[half]");
            return null;
        });
    }
}
