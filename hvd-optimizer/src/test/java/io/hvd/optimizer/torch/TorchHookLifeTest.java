package io.hvd.optimizer.torch;

import static io.hvd.optimizer.torch.Models.floats;
import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.Hvd;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.optimizer.torch.gradient.GradientHook;
import java.util.concurrent.TimeUnit;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.Tensor;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** LibTorch calls hooks as long as there is the parameter; optimizers come and go. */
@Timeout(120)
class TorchHookLifeTest {
    @BeforeAll
    static void unpack() {
        TorchRuntime.prepare();
    }

    @Test
    void theGradientsOfAModelWhoseOptimizerIsGoneStayOnTheirRank() {
        Hvd.spawn(2, hvd -> {
            Module net = new Module();
            Tensor w = Models.parameter(net, "w", 1);
            step(distributed(net), w, hvd.rank());
            assertThat(floats(w)).containsExactly(1 - 15);

            Garbage.collect();
            w.mutable_grad().reset();
            loss(w, hvd.rank()).backward();
            loss(w, hvd.rank()).backward();
            assertThat(floats(w.grad())).containsExactly(2 * (10 + 10 * hvd.rank()));
            return null;
        });
    }

    @Test
    void theLastOptimizerOfAParameterGetsItsGradients() {
        Hvd.spawn(2, hvd -> {
            Module net = new Module();
            Tensor w = Models.parameter(net, "w", 1);
            DistributedOptimizer first = distributed(net);
            step(first, w, hvd.rank());
            DistributedOptimizer second = distributed(net);
            step(second, w, hvd.rank());

            assertThat(floats(w)).containsExactly(1 - 2 * 15);
            assertThat(first.lastStep().bytes()).isEqualTo(second.lastStep().bytes());
            return null;
        });
    }

    @Test
    void anEarlierOptimizerThatIsStillInUseAveragesInItsStep() {
        Hvd.spawn(2, hvd -> {
            Module net = new Module();
            Tensor w = Models.parameter(net, "w", 1);
            DistributedOptimizer first = distributed(net);
            DistributedOptimizer second = DistributedOptimizer.wrap(torchOptimizer(net))
                    .scope("second")
                    .build();
            step(second, w, hvd.rank());
            step(first, w, hvd.rank());
            second.synchronize();
            assertThat(floats(w)).containsExactly(1 - 2 * 15);
            return null;
        });
    }

    @Test
    void aHookGoesWithItsParameter() {
        Garbage.collect();
        int before = GradientHook.living();
        Hvd.spawn(2, hvd -> {
            Module net = new Module();
            Tensor w = Models.parameter(net, "w", 1);
            step(distributed(net), w, hvd.rank());
            step(distributed(net), w, hvd.rank());
            assertThat(GradientHook.living()).isPositive().isLessThanOrEqualTo(before + 2);
            return null;
        });
        // JavaCPP gives memory back on a thread of its own; one that is kept for good lets this end by its limit.
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
        while (GradientHook.living() > before && System.nanoTime() < end) {
            Garbage.collect();
        }
        assertThat(GradientHook.living()).isLessThanOrEqualTo(before);
    }

    private static void step(DistributedOptimizer optimizer, Tensor w, int rank) {
        optimizer.zeroGradients();
        loss(w, rank).backward();
        optimizer.step();
    }

    private static Tensor loss(Tensor w, int rank) {
        return w.mul(Models.tensor(10 + 10 * rank)).sum();
    }

    private static DistributedOptimizer distributed(Module net) {
        return DistributedOptimizer.wrap(torchOptimizer(net)).build();
    }

    private static TorchOptimizer torchOptimizer(Module net) {
        return new TorchOptimizer(new SGD(net.parameters(), new SGDOptions(1)), net.named_parameters());
    }
}
