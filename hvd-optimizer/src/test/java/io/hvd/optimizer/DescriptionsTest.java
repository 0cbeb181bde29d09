package io.hvd.optimizer;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.Compression;
import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.InitOptions;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class DescriptionsTest {
    private static ArrayParameters weights() {
        return new ArrayParameters().add("w", new float[2], new float[2]).add("b", new float[1], new float[1]);
    }

    @Test
    void anOptimizerSaysWhatItDoesWhereAndHowFarItIsAlsoWhenAllIsClosed() {
        List<DistributedOptimizer> closed = Hvd.spawn(2, hvd -> {
            DistributedOptimizer optimizer = DistributedOptimizer.wrap(new Sgd(weights(), 0.5, 0.9, 0))
                    .compression(Compression.FP16)
                    .build();
            optimizer.step();
            if (hvd.rank() == 1) {
                assertThat(optimizer)
                        .hasToString(
                                "DistributedOptimizer(Sgd of 2 parameters, \"w\" the first, AVERAGE in FP16 on rank 1 of 2,"
                                        + " learning rate 0.5, 1 step(s) made)");
            }
            optimizer.close();
            return optimizer;
        });

        assertThat(closed)
                .allSatisfy(optimizer -> assertThat(optimizer.toString()).endsWith("1 step(s) made, closed)"));
    }

    @Test
    void anOptimizerOfOtherRanksSaysSo() {
        InitOptions options = InitOptions.standard().withProcessSets(List.of(List.of(0)));
        Hvd.spawn(2, options, (HvdContext hvd) -> {
            DistributedOptimizer optimizer = DistributedOptimizer.wrap(new Adam(weights(), 0.5))
                    .processSet(hvd.processSet(1))
                    .build();
            assertThat(optimizer.toString())
                    .contains(hvd.rank() == 0 ? "on rank 0 of 1" : "on a rank outside of the process set of ranks [0]");
            return null;
        });
    }

    @Test
    void whatIsWrappedAndWhatScalesSayTheirNumbers() {
        assertThat(new Sgd(weights(), 0.5, 0.9, 0).toString())
                .startsWith("Sgd(2 parameter(s), learning rate 0.5, {")
                .contains("momentum=0.9")
                .endsWith("0 step(s) made)");
        assertThat(new GradScaler()).hasToString("GradScaler(scale 65536.0, 0 of 2000 steps without an overflow)");
        assertThat(GradScaler.disabled()).hasToString("GradScaler(disabled)");
        Hvd.spawn(1, hvd -> {
            DistributedOptimizer inner =
                    DistributedOptimizer.wrap(new Sgd(weights(), 0.5)).build();
            assertThat(AmpOptimizer.wrap(inner).build().toString())
                    .startsWith("AmpOptimizer(DistributedOptimizer(")
                    .contains("GradScaler(");
            return null;
        });
    }
}
