package io.hvd;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.config.HvdConfig;
import io.hvd.tensor.Tensor;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What a debugger, a log line and the completion of an editor show of the objects that a program holds. */
@Timeout(60)
class DescriptionsTest {
    @Test
    void aContextASetAndAHandleSayWhatTheyAreWithoutTheOtherRanks() {
        InitOptions options = InitOptions.standard().withProcessSets(List.of(List.of(0, 2)));
        List<HvdContext> closed = Hvd.spawn(3, options, hvd -> {
            if (hvd.rank() == 1) {
                assertThat(hvd.toString())
                        .startsWith("HvdContext(rank 1 of 3, local rank 1 of 3 on ")
                        .contains("CPU", hvd.backend(), "1 more process set(s)")
                        .doesNotContain("closed");
                assertThat(hvd.processSet(1))
                        .hasToString("ProcessSet 1(of the job's ranks [0, 2], rank 1 is none of them)");
            }
            if (hvd.rank() == 2) {
                assertThat(hvd.processSet(1)).hasToString("ProcessSet 1(rank 1 of 2, the job's ranks [0, 2])");
            }
            hvd.barrier();
            Handle handle = hvd.broadcastAsync("weights", Tensor.of(1f), 0);
            handle.synchronize();
            assertThat(handle).hasToString("Handle(\"weights\", done)");
            return hvd;
        });

        assertThat(closed).allSatisfy(hvd -> assertThat(hvd.toString()).endsWith(", closed)"));
        assertThat(closed.get(0).processSet(1))
                .hasToString("ProcessSet 1(rank 0 of 2, the job's ranks [0, 2], closed)");
    }

    @Test
    void aSetThatWasRemovedSaysSo() {
        Assumptions.assumeFalse(HvdConfig.fromEnvironment().started().byLauncher(), "started by mpirun");
        Hvd.spawn(2, InitOptions.standard().withDynamicProcessSets(), hvd -> {
            ProcessSet set = hvd.addProcessSet(List.of(1));
            hvd.removeProcessSet(set);
            assertThat(set.toString()).contains("ranks [1]", "removed");
            return null;
        });
    }

    @Test
    void whatOptimizersAloneAskForStandsBehindOneName() {
        List<String> offered = Arrays.stream(HvdContext.class.getMethods())
                .map(Method::getName)
                .distinct()
                .toList();
        List<String> hidden = Arrays.stream(ProcessSet.ForOptimizers.class.getDeclaredMethods())
                .map(Method::getName)
                .filter(name -> !name.contains("$"))
                .toList();

        assertThat(offered).contains("forOptimizers", "allreduce", "rank").doesNotContainAnyElementsOf(hidden);
        assertThat(hidden).contains("stepsTravelLate", "numberOf", "inAnyOrder", "joins");
    }
}
