package io.hvd.train;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.AllreduceOptions;
import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.InitOptions;
import io.hvd.ProcessSet;
import io.hvd.data.DataLoader;
import io.hvd.data.Dataset;
import io.hvd.data.Sampler;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.ArrayParameters;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.optimizer.Sgd;
import io.hvd.tensor.JoinDivisor;
import io.hvd.tensor.Tensor;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** Ranks that have different numbers of batches in an epoch. */
@Timeout(60)
class UnevenStepsTest {
    /** The first so many samples, in their order; rank 1 of three has 7, the others 10 and 3. */
    private record Own(int length) implements Sampler {
        static Own ofRank(HvdContext hvd) {
            return new Own(new int[] {10, 7, 3}[hvd.rank()]);
        }

        @Override
        public int datasetSize() {
            return 10;
        }

        @Override
        public int[] indices() {
            return IntStream.range(0, length).toArray();
        }
    }

    private static DataLoader.Builder<Integer, List<Integer>> loader(Sampler sampler) {
        return DataLoader.<Integer, List<Integer>>builder(
                        Dataset.of(IntStream.range(0, 10).boxed().toList()), sampler, samples -> List.copyOf(samples))
                .batchSize(3);
    }

    private static List<List<Integer>> epoch(DataLoader<Integer, List<Integer>> loader) {
        List<List<Integer>> batches = new ArrayList<>();
        loader.forEach(batches::add);
        return batches;
    }

    @Test
    void differentNumbersAreRefusedOnAllRanksWithEachRanksNumber() {
        Hvd.spawn(3, hvd -> {
            try (var loader = loader(Own.ofRank(hvd))
                    .evenSteps(UnevenSteps.REFUSE.among(hvd))
                    .build()) {
                assertThatThrownBy(loader::iterator)
                        .isInstanceOfSatisfying(
                                HvdException.class, e -> assertThat(e.id()).isEqualTo(ErrorId.UNEVEN_STEPS))
                        .hasMessageContainingAll(
                                "1 on ranks [2]", "3 on ranks [1]", "4 on ranks [0]", "PAD, DROP or JOIN");
            }
            return null;
        });
    }

    @ParameterizedTest
    @EnumSource
    void equalNumbersPassAndNothingChanges(UnevenSteps how) {
        Hvd.spawn(2, hvd -> {
            try (var loader = loader(new Own(hvd.rank() == 0 ? 4 : 5))
                    .evenSteps(how.among(hvd))
                    .workers(hvd.rank())
                    .build()) {
                for (int epoch = 0; epoch < 3; epoch++) {
                    assertThat(epoch(loader)).extracting(List::size).containsExactly(3, 1 + hvd.rank());
                }
            }
            return null;
        });
    }

    @Test
    void padRepeatsSamplesUntilAllHaveAsManyAsTheRankWithMost() {
        List<List<List<Integer>>> epochs = Hvd.spawn(3, hvd -> {
            try (var loader = loader(Own.ofRank(hvd))
                    .evenSteps(UnevenSteps.PAD.among(hvd))
                    .build()) {
                assertThat(loader.iterator().batches()).isEqualTo(4);
                return epoch(loader);
            }
        });

        assertThat(epochs.get(0)).endsWith(List.of(9));
        assertThat(epochs.get(1)).containsExactly(List.of(0, 1, 2), List.of(3, 4, 5), List.of(6, 0, 1), List.of(2));
        assertThat(epochs.get(2)).containsExactly(List.of(0, 1, 2), List.of(0, 1, 2), List.of(0, 1, 2), List.of(0));
    }

    @Test
    void dropEndsAllRanksWithTheRankThatHasFewest() {
        List<Integer> steps = Hvd.spawn(3, hvd -> {
            try (var loader = loader(Own.ofRank(hvd))
                    .evenSteps(UnevenSteps.DROP.among(hvd))
                    .workers(2)
                    .build()) {
                assertThat(epoch(loader)).containsExactly(List.of(0, 1, 2));
                return epoch(loader).size();
            }
        });

        assertThat(steps).containsOnly(1);
    }

    @Test
    void joinLetsEveryRankMakeItsOwnStepsAndJoin() {
        List<Float> sums = Hvd.spawn(3, hvd -> {
            float sum = 0;
            try (var loader = loader(Own.ofRank(hvd))
                    .evenSteps(UnevenSteps.JOIN.among(hvd))
                    .build()) {
                for (int epoch = 0; epoch < 2; epoch++) {
                    for (List<Integer> batch : loader) {
                        sum += hvd.allreduce("ranks", Tensor.of(1f), AllreduceOptions.sum())
                                .item();
                    }
                    hvd.join();
                }
            }
            return sum;
        });

        assertThat(sums).containsExactly(2 * (3 + 2 + 2 + 1f), 2 * (3 + 2 + 2f), 2 * 3f);
    }

    private static Training loop(HvdContext hvd, DataLoader<Integer, List<Integer>> loader) {
        var optimizer = DistributedOptimizer.wrap(
                        new Sgd(new ArrayParameters().add("w", new float[1], new float[1]), 1))
                .build();
        return TrainingLoop.of(hvd, optimizer).run(2, loader, (batch, training) -> {
            optimizer.zeroGradients();
            optimizer.step();
        });
    }

    @ParameterizedTest
    @CsvSource({"PAD, 4", "DROP, 1"})
    void aTrainingLoopMakesTheBatchesOfTheEpochThatAreEven(UnevenSteps how, int expected) {
        Hvd.spawn(3, hvd -> {
            try (var loader = loader(Own.ofRank(hvd)).evenSteps(how.among(hvd)).build()) {
                Training training = loop(hvd, loader);
                assertThat(training.batches()).isEqualTo(expected);
                assertThat(training.steps()).isEqualTo(2 * expected);
            }
            return null;
        });
    }

    @Test
    void aTrainingLoopThatIsNotToldToJoinRefusesOnAllRanks() {
        Hvd.spawn(3, hvd -> {
            try (var loader = loader(Own.ofRank(hvd))
                    .evenSteps(UnevenSteps.JOIN.among(hvd))
                    .build()) {
                assertThatThrownBy(() -> loop(hvd, loader))
                        .isInstanceOfSatisfying(
                                HvdException.class, e -> assertThat(e.id()).isEqualTo(ErrorId.UNEVEN_STEPS))
                        .hasMessageContainingAll(
                                "1 on ranks [2]",
                                "4 on ranks [0]",
                                "TrainingLoop",
                                "join(JoinDivisor.ACTIVE)",
                                "PAD or DROP");
            }
            return null;
        });
    }

    private static final class Ends implements Callback {
        final List<String> seen = new ArrayList<>();

        @Override
        public void batchBegins(Training training) {
            seen.add("rate at " + training.progress());
        }

        @Override
        public void epochEnds(Training training) {
            seen.add("epoch " + training.epoch() + " of " + training.steps() + " steps, seen "
                    + training.result("loss").samples());
        }
    }

    private static DistributedOptimizer ofOneWeight(float[] weight, float[] gradient) {
        return DistributedOptimizer.wrap(new Sgd(new ArrayParameters().add("w", weight, gradient), 0.1))
                .weightByBatchSize()
                .build();
    }

    /** Trains as one rank does whose batches are those of all ranks together, with callbacks that meet after each epoch. */
    @Test
    void aTrainingLoopThatJoinsSeesEverySampleOnceAndTellsItsCallbacksOnAllRanks() {
        record End(float weight, long steps, List<String> seen) {}
        List<End> ends = Hvd.spawn(3, hvd -> {
            float[] weight = {0};
            float[] gradient = {0};
            var optimizer = ofOneWeight(weight, gradient);
            Ends callback = new Ends();
            EarlyStop stop = new EarlyStop(Goal.smallest("loss"), 5);
            try (var loader = loader(Own.ofRank(hvd))
                    .evenSteps(UnevenSteps.JOIN.among(hvd))
                    .build()) {
                Training training = TrainingLoop.of(hvd, optimizer)
                        .join(JoinDivisor.ACTIVE)
                        .with(callback)
                        .with(stop)
                        .run(2, loader, (batch, now) -> {
                            optimizer.zeroGradients();
                            optimizer.batchSize(batch.size());
                            double mean = batch.stream()
                                    .mapToInt(one -> one)
                                    .average()
                                    .orElseThrow();
                            gradient[0] += (float) (weight[0] - mean);
                            now.metrics().add("loss", mean, batch.size());
                            optimizer.step();
                        });
                return new End(weight[0], training.steps(), callback.seen);
            }
        });

        assertThat(ends).extracting(End::steps).containsOnly(8L);
        assertThat(ends).extracting(End::weight).containsOnly(oneRankWithAllBatches());
        assertThat(ends.get(0).seen)
                .containsExactly(
                        "rate at 0.0",
                        "rate at 0.25",
                        "rate at 0.5",
                        "rate at 0.75",
                        "epoch 0 of 4 steps, seen 20",
                        "rate at 1.0",
                        "rate at 1.25",
                        "rate at 1.5",
                        "rate at 1.75",
                        "epoch 1 of 8 steps, seen 20");
        assertThat(ends.get(2).seen)
                .containsExactly(
                        "rate at 0.0", "epoch 0 of 4 steps, seen 20", "rate at 1.0", "epoch 1 of 8 steps, seen 20");
    }

    private static float oneRankWithAllBatches() {
        float weight = 0;
        for (int step = 0; step < 8; step++) {
            int from = step % 4 * 3;
            double sum = 0;
            int samples = 0;
            for (int length : new int[] {10, 7, 3}) {
                for (int sample = from; sample < Math.min(from + 3, length); sample++) {
                    sum += sample;
                    samples++;
                }
            }
            weight -= 0.1f * (float) (weight - sum / samples);
        }
        return weight;
    }

    @Test
    void aRankThatLeavesInTheMiddleOfAnEpochTakesThoseAlongThatHaveJoined() {
        Hvd.spawn(3, hvd -> {
            var optimizer = ofOneWeight(new float[1], new float[1]);
            Training training = TrainingLoop.of(hvd, optimizer)
                    .join(JoinDivisor.ACTIVE)
                    .run(5, List.of(1, 2, 3, 4).subList(0, hvd.rank() + 1), hvd.rank() + 1, (batch, now) -> {
                        optimizer.zeroGradients();
                        optimizer.batchSize(1);
                        optimizer.step();
                        if (now.epoch() == 1 && batch == 3) {
                            now.leave("enough");
                        }
                    });
            assertThat(training.epoch()).isEqualTo(1);
            assertThat(training.stopReason()).isEqualTo(hvd.rank() == 2 ? "enough" : "ranks [2] have left the epoch");
            return null;
        });
    }

    @Test
    void callbacksThatMeetInEachBatchAreRefusedByNameBesideJoin() {
        Hvd.spawn(2, hvd -> {
            TrainingLoop loop = TrainingLoop.of(hvd, ofOneWeight(new float[1], new float[1]))
                    .join(JoinDivisor.ACTIVE)
                    .with(new TerminateOnNaN(3));
            assertThatThrownBy(() -> loop.run(1, List.of(1), 1, (batch, training) -> {}))
                    .hasMessageContainingAll("HVD-309", "join(ACTIVE)", "[TerminateOnNaN]", "PAD or DROP");
            return null;
        });
    }

    @ParameterizedTest
    @CsvSource({"PAD, no sample to repeat", "DROP, leave out the whole epoch"})
    void aRankWithoutAnySampleIsNamedToAll(UnevenSteps how, String why) {
        Hvd.spawn(2, hvd -> {
            try (var loader =
                    loader(new Own(5 * hvd.rank())).evenSteps(how.among(hvd)).build()) {
                assertThatThrownBy(loader::iterator)
                        .isInstanceOf(HvdException.class)
                        .hasMessageContainingAll("HVD-309", "0 on ranks [0]; 2 on ranks [1]", why, "JOIN");
            }
            return null;
        });
    }

    @Test
    void withoutLastBatchesThatAreNotFullPaddingMakesFullOnes() {
        List<List<List<Integer>>> epochs = Hvd.spawn(2, hvd -> {
            try (var loader = loader(new Own(hvd.rank() == 0 ? 10 : 5))
                    .dropLast(true)
                    .evenSteps(UnevenSteps.PAD.among(hvd))
                    .build()) {
                return epoch(loader);
            }
        });

        assertThat(epochs.get(1)).containsExactly(List.of(0, 1, 2), List.of(3, 4, 0), List.of(1, 2, 3));
    }

    @Test
    void aLoopOfItsOwnAsksWithinItsProcessSet() {
        Hvd.spawn(4, InitOptions.standard().withDynamicProcessSets(), hvd -> {
            ProcessSet odd = hvd.addProcessSet(List.of(1, 3));
            Function<UnevenSteps, Integer> ask = how -> how.steps(odd, 5 + hvd.rank());
            if (hvd.rank() % 2 == 0) {
                assertThat(ask.apply(UnevenSteps.REFUSE)).as("not its set").isEqualTo(5 + hvd.rank());
                return null;
            }
            assertThat(ask.apply(UnevenSteps.PAD)).isEqualTo(8);
            assertThat(ask.apply(UnevenSteps.DROP)).isEqualTo(6);
            assertThat(ask.apply(UnevenSteps.JOIN)).isEqualTo(5 + hvd.rank());
            assertThatThrownBy(() -> ask.apply(UnevenSteps.REFUSE))
                    .hasMessageContaining("6 on ranks [1]; 8 on ranks [3]");
            return null;
        });
    }
}
