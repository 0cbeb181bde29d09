package io.hvd.optimizer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.InitOptions;
import io.hvd.ProcessSet;
import io.hvd.error.HvdException;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.Timeout.ThreadMode;

/** Optimizers that average over some of the ranks. */
@Timeout(value = 60, threadMode = ThreadMode.SEPARATE_THREAD)
class OptimizerProcessSetTest {
    @Test
    void theMembersAverageAmongThemselvesAndTheOthersStepAlone() {
        Hvd.spawn(4, InitOptions.standard().withDynamicProcessSets(), hvd -> {
            ProcessSet set = hvd.addProcessSet(List.of(1, 3));
            float[] value = {0};
            float[] gradient = {hvd.rank()};
            DistributedOptimizer optimizer = DistributedOptimizer.wrap(
                            new Sgd(new ArrayParameters().add("w", value, gradient), 1))
                    .processSet(set)
                    .build();

            optimizer.gradientReady("w");
            optimizer.synchronize();
            assertThat(gradient).containsExactly(set.included() ? 2 : hvd.rank());
            try (var skip = optimizer.skipSynchronize()) {
                optimizer.step();
            }
            assertThat(value).containsExactly(set.included() ? -2 : -hvd.rank());
            hvd.removeProcessSet(set);
            return null;
        });
    }

    @Test
    void aContextBeforeOrAfterAProcessSetLeavesItAsItIs() {
        InitOptions pair = InitOptions.standard().withProcessSets(List.of(List.of(1, 2)));
        Hvd.spawn(3, pair, hvd -> {
            ProcessSet set = hvd.processSet(1);
            float expected = set.included() ? 1.5f : hvd.rank();
            float[] before = {hvd.rank()};
            wrap(before).context(hvd).processSet(set).build().synchronize();
            assertThat(before).containsExactly(expected);

            float[] after = {hvd.rank()};
            wrap(after).processSet(set).context(hvd).build().synchronize();
            assertThat(after).containsExactly(expected);

            float[] all = {hvd.rank()};
            wrap(all).context(hvd).build().synchronize();
            assertThat(all).containsExactly(1);
            return null;
        });
    }

    @Test
    void aProcessSetOfAnotherContextIsRefusedWithItsRanks() {
        InitOptions pair = InitOptions.standard().withProcessSets(List.of(List.of(0, 2)));
        List<HvdContext> earlier = Hvd.spawn(3, pair, hvd -> hvd);
        Hvd.spawn(3, hvd -> {
            ProcessSet foreign = earlier.get(hvd.rank()).processSet(1);
            assertThatThrownBy(() ->
                            wrap(new float[1]).processSet(foreign).context(hvd).build())
                    .isInstanceOf(HvdException.class)
                    .hasMessageContainingAll("HVD-202", "process set 1 of ranks [0, 2]", "sets [0]", "context(...)");
            return null;
        });
    }

    private static DistributedOptimizerBuilder wrap(float[] gradient) {
        return DistributedOptimizer.wrap(new Sgd(new ArrayParameters().add("w", new float[1], gradient), 1));
    }

    @Test
    void twoOptimizersOnOverlappingSetsUseTheSameNamesWithoutMeeting() {
        Hvd.spawn(3, InitOptions.standard().withDynamicProcessSets(), hvd -> {
            ProcessSet first = hvd.addProcessSet(List.of(0, 1));
            ProcessSet second = hvd.addProcessSet(List.of(1, 2));
            List<ProcessSet> order = hvd.rank() == 1 ? List.of(second, first) : List.of(first, second);
            for (int step = 0; step < 20; step++) {
                List<float[]> gradients = new ArrayList<>();
                for (ProcessSet set : order) {
                    float[] gradient = {hvd.rank() + step};
                    reduce(set, gradient);
                    gradients.add(gradient);
                }
                for (int i = 0; i < 2; i++) {
                    ProcessSet set = order.get(i);
                    float mean = set.ranks().stream().mapToInt(rank -> rank).sum() / 2f;
                    assertThat(gradients.get(i)).containsExactly((set.included() ? mean : hvd.rank()) + step);
                }
            }
            return null;
        });
    }

    private static void reduce(ProcessSet set, float[] gradient) {
        ArrayParameters parameters = new ArrayParameters().add("w", new float[1], gradient);
        DistributedOptimizer.wrap(new Sgd(parameters, 1))
                .processSet(set)
                .build()
                .synchronize();
    }

    @Test
    void theStateComesFromAGlobalRankOfTheSet() {
        Hvd.spawn(4, InitOptions.standard().withDynamicProcessSets(), hvd -> {
            ProcessSet set = hvd.addProcessSet(List.of(1, 3));
            float[] value = {hvd.rank()};
            DistributedOptimizer optimizer = DistributedOptimizer.wrap(
                            new Sgd(new ArrayParameters().add("w", value, new float[1]), 0.5 + hvd.rank()))
                    .processSet(set)
                    .build();
            if (set.included()) {
                optimizer.broadcastParameters(3);
                optimizer.broadcastOptimizerState(3);
                assertThat(value).containsExactly(3);
                assertThat(optimizer.learningRate()).isEqualTo(3.5);
            } else {
                assertThatThrownBy(() -> optimizer.broadcastParameters(3))
                        .isInstanceOf(HvdException.class)
                        .hasMessageContaining("not in process set");
            }
            return null;
        });
    }

    /** Two halves of one model on one rank: parameters of both are averaged with the other ranks' halves. */
    @Test
    void aModelInTwoPartsIsAveragedPartByPart() {
        Hvd.spawn(2, InitOptions.standard().withDynamicProcessSets(), hvd -> {
            float[] lower = {hvd.rank()};
            float[] upper = {10 * hvd.rank()};
            DistributedOptimizer first = DistributedOptimizer.wrap(
                            new Sgd(new ArrayParameters().add("w", new float[1], lower), 1))
                    .scope("lower")
                    .build();
            DistributedOptimizer second = DistributedOptimizer.wrap(
                            new Sgd(new ArrayParameters().add("w", new float[1], upper), 1))
                    .scope("upper")
                    .build();
            second.gradientReady("w");
            first.gradientReady("w");
            first.step();
            second.step();
            assertThat(lower).containsExactly(0.5f);
            assertThat(upper).containsExactly(5f);
            return null;
        });
    }

    /** The second rank of the set is rank 2 of the job, and a rank outside of the set has no number in it. */
    @Test
    void gradientsAreKeptLocalOnEveryRankAndMessagesNameTheRankOfTheJob() {
        InitOptions pair = InitOptions.standard().withProcessSets(List.of(List.of(1, 2)));
        Hvd.spawn(3, pair, hvd -> {
            float[] gradient = {hvd.rank()};
            DistributedOptimizer optimizer =
                    wrap(gradient).processSet(hvd.processSet(1)).build();
            String here =
                    hvd.rank() == 0 ? "on a rank outside of the process set of ranks [1, 2]" : "on rank " + hvd.rank();
            try (var local = optimizer.noSync()) {
                assertThatThrownBy(optimizer::noSync).hasMessageContainingAll("HVD-401", here, "inside another");
                assertThatThrownBy(optimizer::step).hasMessageContainingAll("HVD-401", here, "inside noSync()");
            }
            assertThatThrownBy(optimizer::synchronizeBuffers)
                    .hasMessageContaining(hvd.rank() == 0 ? "outside of [1, 2]" : "on rank " + hvd.rank());
            optimizer.step();
            assertThat(gradient).containsExactly(hvd.rank() == 0 ? 0 : 1.5f);
            return null;
        });
    }
}
