package io.hvd.train;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.ArrayParameters;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.optimizer.Sgd;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The callbacks that watch and tell; what one of them decides, all ranks decide. */
@Timeout(60)
class CallbacksTest {
    private static final List<Integer> BATCHES = List.of(0, 1, 2, 3, 4);

    private final float[] gradient = {0};

    private DistributedOptimizer optimizer() {
        ArrayParameters parameters = new ArrayParameters().add("w", new float[1], gradient);
        return DistributedOptimizer.wrap(new Sgd(parameters, 0.1)).build();
    }

    /** @param badBatch in which the second rank's loss is NaN, in epoch 1 */
    private static List<HvdException> ended(int everyBatches, int badBatch) {
        return Hvd.spawn(3, hvd -> {
            CallbacksTest mine = new CallbacksTest();
            DistributedOptimizer optimizer = mine.optimizer();
            TrainingLoop loop = TrainingLoop.of(hvd, optimizer).with(new TerminateOnNaN(everyBatches));
            HvdException[] thrown = new HvdException[1];
            assertThatThrownBy(() -> loop.run(3, BATCHES, BATCHES.size(), (batch, training) -> {
                        boolean isBad = training.epoch() == 1 && batch >= badBatch && hvd.rank() == 1;
                        mine.gradient[0] = 1;
                        optimizer.step();
                        training.metrics().add("loss", isBad ? Double.NaN : 1, 1);
                    }))
                    .isInstanceOfSatisfying(HvdException.class, e -> thrown[0] = e);
            return thrown[0];
        });
    }

    @Test
    void fourRanksTrainWithTheRatesOfHorovodsVectors() {
        assertThat(Hvd.spawn(4, VectorRates::warmUp)).containsOnly(VectorRates.WARM_UP);
        assertThat(Hvd.spawn(4, VectorRates::imageNet)).containsOnly(VectorRates.IMAGE_NET);
    }

    @Test
    void aLossThatIsNaNOnOneRankEndsAllAtTheNextQuestionAndNamesRankEpochAndBatch() {
        assertThat(ended(2, 2)).allSatisfy(end -> {
            assertThat(end.id()).isEqualTo(ErrorId.NON_FINITE);
            assertThat(end)
                    .hasMessageContaining("in epoch 1, after 9 steps of the whole training")
                    .hasMessageContaining("on rank 1 \"loss\" in batch 2.")
                    .hasMessageContaining("TerminateOnNaN");
        });
    }

    @Test
    void theRanksAskAtTheEndOfAnEpochToo() {
        assertThat(ended(1000, 4)).allSatisfy(end -> assertThat(end).hasMessageContaining("\"loss\" in batch 4."));
    }

    @Test
    void aTestLossThatIsNotFiniteEndsTheTrainingBeforeItsCheckpoint() {
        Hvd.spawn(2, hvd -> {
            List<Integer> saved = new ArrayList<>();
            CallbacksTest mine = new CallbacksTest();
            Callback saving = new Callback() {
                @Override
                public void epochEnds(Training training) {
                    saved.add(training.epoch());
                }
            };
            TrainingLoop loop = TrainingLoop.of(hvd, mine.optimizer())
                    .with(saving)
                    .with(new TerminateOnNaN(10))
                    .evaluation(training -> training.metrics()
                            .add("test loss", hvd.rank() + training.epoch() == 2 ? Double.POSITIVE_INFINITY : 1, 1));
            assertThatThrownBy(() -> loop.run(3, BATCHES, BATCHES.size(), (batch, training) -> {}))
                    .isInstanceOf(HvdException.class)
                    .hasMessageContaining("the mean of \"test loss\" over all ranks");
            assertThat(saved).containsExactly(0);
            return null;
        });
    }

    private static List<String> lines(HvdContext hvd, List<String> lines, Callback... callbacks) {
        TrainingLoop loop = TrainingLoop.of(hvd, new CallbacksTest().optimizer());
        for (Callback callback : callbacks) {
            loop.with(callback);
        }
        loop.run(
                3,
                BATCHES,
                BATCHES.size(),
                (batch, training) -> training.metrics().add("loss", hvd.rank(), 1));
        return lines;
    }

    @Test
    void theFirstRankTellsTheMeansTheRateAndTheEndOfTheWarmUp() {
        List<List<String>> all = Hvd.spawn(2, hvd -> {
            List<String> lines = new ArrayList<>();
            Schedule schedule = Schedule.fixed(0.04).warmUp(hvd.size(), 2, BATCHES.size());
            return lines(hvd, lines, Logging.to(lines::add).withWarmUp(2), new LearningRate(schedule));
        });

        assertThat(all.get(1)).isEmpty();
        assertThat(all.get(0)).hasSize(4);
        assertThat(all.get(0).get(0))
                .startsWith("epoch 1/3: loss 0.5000, learning rate 0.03, ")
                .endsWith(" s");
        assertThat(all.get(0).get(1)).startsWith("epoch 2/3: ");
        assertThat(all.get(0).get(2)).isEqualTo("epoch 2: the warm-up has ended at learning rate 0.04");
        assertThat(all.get(0).get(3)).startsWith("epoch 3/3: ");
    }

    @Test
    void memoryThatWasUsedCounts() {
        byte[] used = new byte[64 << 20];
        Arrays.fill(used, (byte) 1);

        assertThat(Memory.peakMebibytes()).isGreaterThan(64);
        assertThat(used[used.length - 1]).isOne();
    }

    @Test
    void memoryNamesEveryRankAndTimesAreMeansOverAllBatches() {
        List<List<String>> all = Hvd.spawn(2, hvd -> {
            List<String> lines = new ArrayList<>();
            Callback look = new Callback() {
                @Override
                public void epochEnds(Training training) {
                    assertThat(training.result(TimeMeasure.STEP).samples()).isEqualTo(10);
                    assertThat(training.result(TimeMeasure.STEP).mean()).isPositive();
                    assertThat(training.result(TimeMeasure.DATA).samples()).isEqualTo(10);
                    assertThat(training.result(TimeMeasure.DATA).mean()).isPositive();
                }
            };
            return lines(hvd, lines, new TimeMeasure(), new Memory(lines::add), look);
        });

        assertThat(all.get(1)).isEmpty();
        assertThat(all.get(0)).hasSize(3);
        assertThat(all.get(0).get(2))
                .matches("epoch 3/3: peak memory of the ranks' processes in MiB \\[\\d{2,}, \\d{2,}]");
    }

    /** Otherwise the ranks would lower the rate in different epochs, without another sign of it. */
    @Test
    void ranksWithDifferentPlateausAreNamedBeforeTheFirstBatch() {
        Hvd.spawn(3, hvd -> {
            LearningRate rate = new LearningRate(Schedule.fixed(1));
            if (hvd.rank() != 2) {
                rate.reducedOn(new Plateau(Goal.smallest("loss"), 0.1, 3 + hvd.rank(), 0));
            }
            assertThatThrownBy(() -> lines(hvd, new ArrayList<>(), rate))
                    .isInstanceOfSatisfying(
                            HvdException.class, e -> assertThat(e.id()).isEqualTo(ErrorId.DIFFERENT_SETTINGS))
                    .hasMessageContainingAll("differ in plateau", "patience 3", "patience 4", "none");
            return null;
        });
    }

    @Test
    void aNumberOfBatchesBelowOneIsRefused() {
        assertThatThrownBy(() -> new TerminateOnNaN(0)).hasMessageContaining("TerminateOnNaN(0): expected at least 1");
    }
}
