package io.hvd.optimizer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.InitOptions;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.tensor.Tensor;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(60)
class BufferSyncTest {
    private static final int RANKS = 3;

    /** A model of one parameter, whose buffers follow the rank: statistics r + step, and a count of 10 r + step. */
    private static final class Model {
        final HvdContext hvd;
        final float[] statistics = new float[2];
        final long[] count = new long[1];
        final DistributedOptimizer optimizer;

        Model(HvdContext hvd, BufferSync how, int compareEvery) {
            this.hvd = hvd;
            var builder = DistributedOptimizer.wrap(
                            new Sgd(new ArrayParameters().add("w", new float[1], new float[1]), 0.1))
                    .context(hvd)
                    .compareParametersEvery(compareEvery)
                    .buffers(Map.of("mean", Tensor.of(statistics), "count", Tensor.of(count)));
            this.optimizer = how == null
                    ? builder.build()
                    : builder.broadcastBuffers(how).build();
        }

        void step(int step) {
            statistics[0] = hvd.rank() + step;
            statistics[1] = -2 * hvd.rank();
            count[0] = 10L * hvd.rank() + step;
            optimizer.step();
        }

        void requireOwn(int step) {
            assertThat(statistics).containsExactly(hvd.rank() + step, -2 * hvd.rank());
            assertThat(count).containsExactly(10L * hvd.rank() + step);
        }
    }

    @Test
    void everySomeStepsAllRanksTakeTheFirstOnes() {
        Hvd.spawn(RANKS, hvd -> {
            Model model = new Model(hvd, BufferSync.everySteps(2), 0);
            for (int step = 1; step <= 5; step++) {
                model.step(step);
                if (step % 2 == 0) {
                    assertThat(model.statistics).containsExactly(step, 0);
                    assertThat(model.count).containsExactly(step);
                } else {
                    model.requireOwn(step);
                }
            }
            return null;
        });
    }

    /** With 4 steps behind it, rank 0 would broadcast after its next one, while the others still reduce gradients. */
    @Test
    void afterAJoinAllRanksCountTheirStepsFromZero() {
        Hvd.spawn(RANKS, hvd -> {
            Model model = new Model(hvd, BufferSync.everySteps(5), 0);
            for (int step = 1; step <= 4 - hvd.rank(); step++) {
                model.step(step);
            }
            hvd.join();
            for (int step = 1; step <= 4; step++) {
                model.step(step);
                model.requireOwn(step);
            }
            model.step(5);
            assertThat(model.statistics).containsExactly(5, 0);
            assertThat(model.count).containsExactly(5);
            return null;
        });
    }

    @Test
    void theMeanIsOverAllRanksAndCountersAreTheFirstOnes() {
        Hvd.spawn(RANKS, hvd -> {
            Model model = new Model(hvd, BufferSync.meanEverySteps(1), 0);
            for (int step = 1; step <= 2; step++) {
                model.step(step);
                assertThat(model.statistics).containsExactly(1 + step, -2);
                assertThat(model.count).containsExactly(step);
            }
            return null;
        });
    }

    @Test
    void beforeACheckpointMeansWhenTheProgramSaysSo() {
        Hvd.spawn(RANKS, hvd -> {
            Model first = new Model(hvd, BufferSync.beforeCheckpoint(), 0);
            Model mean = new Model(hvd, BufferSync.meanBeforeCheckpoint(), 0);
            first.step(1);
            first.requireOwn(1);
            first.optimizer.synchronizeBuffers();
            assertThat(first.statistics).containsExactly(1, 0);
            mean.step(1);
            mean.requireOwn(1);
            mean.optimizer.synchronizeBuffers();
            assertThat(mean.statistics).containsExactly(2, -2);
            return null;
        });
    }

    @Test
    void ofAProcessSetTheFirstMemberCounts() {
        Hvd.spawn(RANKS, InitOptions.standard().withDynamicProcessSets(), hvd -> {
            var set = hvd.addProcessSet(List.of(1, 2));
            float[] mine = {hvd.rank()};
            var optimizer = DistributedOptimizer.wrap(
                            new Sgd(new ArrayParameters().add("w", new float[1], new float[1]), 0.1))
                    .processSet(set)
                    .buffers(Map.of("mean", Tensor.of(mine)))
                    .broadcastBuffers(BufferSync.everySteps(1))
                    .build();
            optimizer.step();
            assertThat(mine).containsExactly(hvd.rank() == 0 ? 0 : 1);
            return null;
        });
    }

    @Test
    void buffersThatNobodyMakesTheSameAreComparedAndNamed() {
        Hvd.spawn(RANKS, hvd -> {
            Model model = new Model(hvd, null, 2);
            model.step(1);
            assertThatThrownBy(() -> model.step(2))
                    .isInstanceOfSatisfying(
                            HvdException.class, e -> assertThat(e.id()).isEqualTo(ErrorId.DIVERGED))
                    .hasMessageContainingAll(
                            "after step 2",
                            "the same buffers",
                            "\"count\"",
                            "[0]",
                            "[1]",
                            "[2]",
                            "SyncBatchNorm",
                            "broadcastBuffers")
                    .hasMessageNotContaining("learning rate");
            return null;
        });
    }

    @Test
    void buffersThatAreMadeTheSameAreNotCompared() {
        Hvd.spawn(RANKS, hvd -> {
            Model model = new Model(hvd, BufferSync.everySteps(4), 1);
            for (int step = 1; step <= 5; step++) {
                model.step(step);
            }
            return null;
        });
    }

    @Test
    void ranksWithOtherBuffersAreToldOnAllRanks() {
        Hvd.spawn(2, hvd -> {
            var optimizer = DistributedOptimizer.wrap(
                            new Sgd(new ArrayParameters().add("w", new float[1], new float[1]), 0.1))
                    .context(hvd)
                    .buffers(Map.of("mean", Tensor.of(new float[2 + hvd.rank()]), "of." + hvd.rank(), Tensor.of(1f)))
                    .broadcastBuffers(BufferSync.beforeCheckpoint())
                    .build();
            assertThatThrownBy(optimizer::synchronizeBuffers)
                    .isInstanceOf(HvdException.class)
                    .hasMessageContainingAll("buffer \"mean\"", "[2]", "[3]", "buffer \"of.1\"");
            return null;
        });
    }

    @ParameterizedTest
    @ValueSource(ints = {0, -1})
    void aNumberOfStepsBelowOneIsRefused(int steps) {
        assertThatThrownBy(() -> BufferSync.everySteps(steps))
                .hasMessageContainingAll("every " + steps + " steps", "1 or more");
        assertThatThrownBy(() -> BufferSync.meanEverySteps(steps)).isInstanceOf(HvdException.class);
    }

    @Test
    void theBuildersHalvesNeedEachOther() {
        Hvd.spawn(1, hvd -> {
            var builder = DistributedOptimizer.wrap(
                            new Sgd(new ArrayParameters().add("w", new float[1], new float[1]), 0.1))
                    .context(hvd);
            assertThatThrownBy(() -> builder.build().synchronizeBuffers())
                    .hasMessageContainingAll("synchronizeBuffers()", "broadcastBuffers(...)");
            assertThatThrownBy(() ->
                            builder.broadcastBuffers(BufferSync.everySteps(1)).build())
                    .hasMessageContainingAll("broadcastBuffers(...)", "buffers(");
            return null;
        });
    }
}
