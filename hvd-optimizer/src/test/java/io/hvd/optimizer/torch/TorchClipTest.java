package io.hvd.optimizer.torch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;
import static org.bytedeco.pytorch.global.torch.clip_grad_norm_;
import static org.bytedeco.pytorch.global.torch.clip_grad_value_;

import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.optimizer.Closeness;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.optimizer.DistributedOptimizerBuilder;
import java.util.function.UnaryOperator;
import org.bytedeco.pytorch.SGD;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Clipping by hvd is clipping by LibTorch's own functions. */
@Timeout(120)
class TorchClipTest {
    private static final double LIMIT = 0.05;

    @BeforeAll
    static void unpack() {
        TorchRuntime.prepare();
    }

    private static DistributedOptimizerBuilder builder(HvdContext hvd, Models.Net net, boolean sharded, String scope) {
        return DistributedOptimizer.wrap(
                        sharded
                                ? TorchOptimizer.sharded(
                                        hvd, net.named_parameters(), share -> new SGD(share, Models.sgd(0.5)))
                                : new TorchOptimizer(
                                        new SGD(net.parameters(), Models.sgd(0.5)), net.named_parameters()))
                .scope(scope);
    }

    private interface Clip {
        void apply(Models.Net net);
    }

    private static void assertSame(boolean sharded, UnaryOperator<DistributedOptimizerBuilder> ours, Clip theirs) {
        for (int ranks = 1; ranks <= 3; ranks++) {
            Hvd.spawn(ranks, hvd -> {
                Models.Net clipped = new Models.Net(7);
                Models.Net byHand = new Models.Net(7);
                DistributedOptimizer optimizer =
                        ours.apply(builder(hvd, clipped, sharded, "clipped")).build();
                DistributedOptimizer plain =
                        builder(hvd, byHand, false, "byHand").build();
                for (int step = 0; step < 4; step++) {
                    int from = 8 * step + 2 * hvd.rank();
                    optimizer.zeroGradients();
                    clipped.loss(from, from + 2).backward();
                    optimizer.step();
                    plain.zeroGradients();
                    byHand.loss(from, from + 2).backward();
                    plain.synchronize();
                    theirs.apply(byHand);
                    try (var skip = plain.skipSynchronize()) {
                        plain.step();
                    }
                }
                Closeness.assertClose(Models.weights(clipped), Models.weights(byHand), 1e-6);
                assertThat(Models.weights(clipped)).isNotEqualTo(Models.weights(new Models.Net(7)));
                return null;
            });
        }
    }

    @Test
    void byNorm() {
        Clip theirs =
                net -> assertThat(clip_grad_norm_(net.parameters(), LIMIT)).isGreaterThan(LIMIT);

        assertSame(false, builder -> builder.clipGradientNorm(LIMIT), theirs);
        assertSame(true, builder -> builder.clipGradientNorm(LIMIT), theirs);
    }

    @Test
    void byValue() {
        Clip theirs = net -> clip_grad_value_(net.parameters(), LIMIT / 10);

        assertSame(false, builder -> builder.clipGradientValue(LIMIT / 10), theirs);
        assertSame(true, builder -> builder.clipGradientValue(LIMIT / 10), theirs);
    }

    @Test
    void theNormIsThatOfLibTorch() {
        Hvd.spawn(2, hvd -> {
            Models.Net net = new Models.Net(7);
            DistributedOptimizer optimizer =
                    builder(hvd, net, false, "norm").clipGradientNorm(1e6).build();
            net.loss(2 * hvd.rank(), 2 * hvd.rank() + 2).backward();
            optimizer.step();
            assertThat(optimizer.lastGradientNorm()).isCloseTo(clip_grad_norm_(net.parameters(), 1e6), within(1e-6));
            return null;
        });
    }
}
