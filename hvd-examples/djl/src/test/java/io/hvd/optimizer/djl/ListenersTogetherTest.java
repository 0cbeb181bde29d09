package io.hvd.optimizer.djl;

import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.Model;
import ai.djl.TrainingDivergedException;
import ai.djl.training.EasyTrain;
import ai.djl.training.Trainer;
import ai.djl.training.listener.EarlyStoppingListener;
import ai.djl.training.listener.EarlyStoppingListener.EarlyStoppedException;
import ai.djl.training.listener.EpochTrainingListener;
import ai.djl.training.listener.EvaluatorTrainingListener;
import ai.djl.training.listener.SaveModelTrainingListener;
import ai.djl.training.listener.TrainingListener;
import ai.djl.training.listener.TrainingListenerAdapter;
import ai.djl.training.optimizer.Optimizer;
import ai.djl.training.tracker.Tracker;
import io.hvd.Hvd;
import io.hvd.HvdContext;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.function.Function;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What a listener of one rank throws, ends the training of all ranks in the same place. */
@Timeout(120)
class ListenersTogetherTest {
    private static void fit(HvdContext hvd, int epochs, TrainingListener... own) throws Exception {
        var optimizer =
                Optimizer.sgd().setLearningRateTracker(Tracker.fixed(0.1f)).build();
        var config = TinyTask.config(optimizer, new EpochTrainingListener(), new EvaluatorTrainingListener())
                .addTrainingListeners(own);
        try (Model model = TinyTask.model(hvd, false);
                Trainer trainer = DistributedTrainer.of(hvd, model, config)) {
            trainer.initialize(TinyTask.INPUT);
            var manager = model.getNDManager();
            var train = TinyTask.data(manager, RankSampler.training(hvd, 8));
            EasyTrain.fit(trainer, epochs, train, TinyTask.data(manager, RankSampler.evaluation(hvd, 8)));
        }
    }

    private static List<Throwable> failures(int epochs, Function<HvdContext, TrainingListener[]> listeners) {
        return Hvd.spawn(2, hvd -> {
            try {
                fit(hvd, epochs, listeners.apply(hvd));
                return null;
            } catch (RuntimeException e) {
                return e;
            }
        });
    }

    @Test
    void aTimeThatIsUpOnOneRankStopsAllRanksAfterTheSameEpoch() {
        List<Throwable> thrown = failures(50, hvd -> new TrainingListener[] {
            EarlyStoppingListener.builder()
                    .optMaxMillis(hvd.rank() == 1 ? 0 : Integer.MAX_VALUE)
                    .optEpochPatience(1000)
                    .build()
        });

        assertThat(thrown).allSatisfy(each -> assertThat(each).isInstanceOf(EarlyStoppedException.class));
        assertThat(((EarlyStoppedException) thrown.get(0)).getStopEpoch())
                .isEqualTo(((EarlyStoppedException) thrown.get(1)).getStopEpoch())
                .isEqualTo(1);
        assertThat(thrown.get(0)).hasMessageContainingAll("rank 1", "elapsed");
    }

    @Test
    void patienceEndsOnAllRanksByTheLossOfAll() {
        List<Throwable> thrown = failures(200, hvd -> new TrainingListener[] {
            EarlyStoppingListener.builder()
                    .optEarlyStopPctImprovement(90)
                    .optEpochPatience(3)
                    .build()
        });

        assertThat(thrown)
                .allSatisfy(each -> assertThat(each)
                        .isInstanceOf(EarlyStoppedException.class)
                        .hasMessageNotContaining("rank")); // each has found it itself
    }

    @Test
    void aDivergenceOnOneRankEndsTheTrainingOfAllBeforeTheStep() {
        List<Throwable> thrown = failures(1, hvd -> new TrainingListener[] {
            new TrainingListenerAdapter() {
                private int batches;

                @Override
                public void onTrainingBatch(Trainer trainer, BatchData batch) {
                    if (++batches == 2 && hvd.rank() == 0) {
                        throw new TrainingDivergedException("the loss is lost");
                    }
                }
            }
        });

        assertThat(thrown)
                .allSatisfy(each -> assertThat(each)
                        .isInstanceOf(TrainingDivergedException.class)
                        .hasMessageContaining("the loss is lost"));
        assertThat(thrown.get(1)).hasMessageContaining("rank 0");
    }

    @Test
    void anyOtherExceptionOfAListenerNamesItsRankOnTheOthers() {
        List<Throwable> thrown = failures(1, hvd -> new TrainingListener[] {
            new TrainingListenerAdapter() {
                @Override
                public void onValidationBatch(Trainer trainer, BatchData batch) {
                    if (hvd.rank() == 1) {
                        throw new IllegalStateException("disk full");
                    }
                }
            }
        });

        assertThat(thrown.get(0))
                .isInstanceOf(ListenerException.class)
                .hasMessageContainingAll("rank 1", "IllegalStateException", "disk full");
        assertThat(thrown.get(1)).isInstanceOf(IllegalStateException.class);
    }

    @Test
    void ranksWithOtherEvaluatorsAreRefused() {
        List<Throwable> thrown = failures(1, hvd -> new TrainingListener[] {
            new TrainingListenerAdapter() {
                @Override
                public void onTrainingBegin(Trainer trainer) {
                    if (hvd.rank() == 0) {
                        trainer.getEvaluators().clear();
                    }
                }
            }
        });

        assertThat(thrown)
                .allSatisfy(each -> assertThat(each)
                        .hasMessageContainingAll("different evaluators", "train/epoch", "L2Loss.totalLoss"));
    }

    @Test
    void modelsAreSavedByTheFirstRankOnly(@TempDir Path folder) throws Exception {
        Hvd.spawn(2, hvd -> {
            Path own = folder.resolve("rank-" + hvd.rank());
            fit(hvd, 1, new SaveModelTrainingListener(own.toString(), "tiny", 1));
            return null;
        });

        assertThat(folder.resolve("rank-0"))
                .isDirectoryContaining(file -> file.toString().endsWith(".params"));
        assertThat(Files.exists(folder.resolve("rank-1"))).isFalse();
    }
}
