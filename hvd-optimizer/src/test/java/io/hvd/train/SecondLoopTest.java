package io.hvd.train;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.optimizer.ArrayParameters;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.optimizer.Sgd;
import io.hvd.testing.StandardError;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Callbacks with a state in a second loop, as in a cross-validation. */
@Timeout(60)
class SecondLoopTest {
    @TempDir
    Path folder;

    /** An epoch per loss. */
    private static Training run(HvdContext hvd, List<Callback> callbacks, double... losses) {
        float[] gradient = {0};
        var optimizer = DistributedOptimizer.wrap(new Sgd(new ArrayParameters().add("w", new float[] {0}, gradient), 1))
                .build();
        optimizer.broadcastParameters(0);
        TrainingLoop loop = TrainingLoop.of(hvd, optimizer);
        callbacks.forEach(loop::with);
        return loop.evaluation(training -> training.metrics().add("loss", losses[training.epoch()], 1))
                .run(losses.length, List.of(1), 1, (batch, training) -> {
                    optimizer.zeroGradients();
                    gradient[0] = 1;
                    optimizer.step();
                });
    }

    @Test
    void anEarlyStopBeginsAnewAndStopsTheSecondLoopByItsOwnValues() {
        Hvd.spawn(2, hvd -> {
            EarlyStop stop = new EarlyStop(Goal.smallest("loss"), 2);
            assertThat(run(hvd, List.of(stop), 1, 2, 3, 4).epoch()).isEqualTo(3);
            assertThat(run(hvd, List.of(stop), 9, 8, 7, 6, 7, 7, 7).epoch()).isEqualTo(6);
            return null;
        });
    }

    @Test
    void aStateThatIsLoadedBetweenTheLoopsIsKept() {
        Hvd.spawn(2, hvd -> {
            EarlyStop stop = new EarlyStop(Goal.smallest("loss"), 2);
            run(hvd, List.of(stop), 1, 2);
            stop.loadState(stop.saveState());
            assertThat(run(hvd, List.of(stop), 5, 5, 5).epoch()).isEqualTo(1);
            assertThat(run(hvd, List.of(stop), 5, 4, 3).epoch()).isEqualTo(3);
            return null;
        });
    }

    @Test
    void aPlateauBeginsAnewWithTheWholeRate() {
        Hvd.spawn(2, hvd -> {
            Plateau plateau = new Plateau(Goal.smallest("loss"), 0.5, 0, 0);
            LearningRate rate = new LearningRate(Schedule.fixed(1)).reducedOn(plateau);
            run(hvd, List.of(rate), 1, 2, 3);
            assertThat(plateau.factor()).isEqualTo(0.25);
            run(hvd, List.of(rate), 3, 2, 4);
            assertThat(plateau.factor()).isEqualTo(0.5);
            return null;
        });
    }

    @Test
    void theBestFileIsThatOfTheSecondLoopThoughTheFirstOneWasBetter() throws Exception {
        Path file = folder.resolve("best");
        Hvd.spawn(2, hvd -> {
            List<Double> saved = new ArrayList<>();
            SaveCheckpoint best = SaveCheckpoint.best(Goal.smallest("loss"), file, training -> {
                saved.add(training.result("loss").mean());
                return new Checkpoint(
                        new TreeMap<>(),
                        Map.of("loss", "" + training.result("loss").mean()));
            });
            run(hvd, List.of(best), 3, 1, 2);
            run(hvd, List.of(best), 9, 8, 10);
            assertThat(saved).isEqualTo(hvd.rank() == 0 ? List.of(3.0, 1.0, 9.0, 8.0) : List.of());
            return null;
        });
        assertThat(Files.exists(file)).isTrue();
    }

    @Test
    void anEarlyStopSaysInOneLineOfTheFirstRankWhenAndWhyItStops() throws Exception {
        String said = StandardError.during(() -> Hvd.spawn(2, hvd -> {
            EarlyStop stop = new EarlyStop(Goal.smallest("loss"), 2);
            return run(hvd, List.of(stop), 1, 2, 3, 4);
        }));
        assertThat(said.lines().filter(line -> line.contains("the training has ended")))
                .singleElement()
                .asString()
                .contains(
                        "stopped early",
                        "epochs: 3",
                        "\"loss\" has not become better than 1.0 for 2 epochs, it is 3.0");
    }
}
