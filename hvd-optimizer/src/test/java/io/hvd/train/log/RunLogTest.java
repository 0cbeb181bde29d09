package io.hvd.train.log;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.ArrayParameters;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.optimizer.Sgd;
import io.hvd.train.TrainingLoop;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

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
        assertThat(card().exit()).isEqualTo(new RunCard.Exit("stopped", null, "the time is over"));
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
