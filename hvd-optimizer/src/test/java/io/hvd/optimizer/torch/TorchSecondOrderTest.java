package io.hvd.optimizer.torch;

import static io.hvd.optimizer.torch.Models.floats;
import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.AllreduceOptions;
import io.hvd.Hvd;
import org.bytedeco.pytorch.BoolOptional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Gradients of losses that are made of gradients. */
@Timeout(120)
class TorchSecondOrderTest {
    private static final AllreduceOptions SUM = AllreduceOptions.sum();

    @BeforeAll
    static void unpack() {
        TorchRuntime.prepare();
    }

    @Test
    void gradientsHaveGradientsOfTheirOwn() {
        Hvd.spawn(2, hvd -> {
            Tensor x = leaf(1, 2);
            Tensor y = new TorchCollectives(hvd).allreduce("x", x, SUM);
            Tensor first = firstOrder(y.mul(y).mul(y).sum(), x);
            // y = 2 x. The losses y^3 of both ranks have the gradient 2 * 3 y^2 = 24 x^2 ...
            assertThat(floats(first.detach())).containsExactly(24, 96);
            first.sum().backward();
            // ... and both ranks' sums of those, 48 x^2 in all, have 96 x, half of it for each rank's own x.
            assertThat(floats(x.grad())).containsExactly(48, 96);
            return null;
        });
    }

    @Test
    void theZerosOfABroadcastTakePartInTheSecondOrderToo() {
        Hvd.spawn(2, hvd -> {
            Tensor x = leaf(1, 2);
            Tensor y = new TorchCollectives(hvd).broadcast("x", x, 0);
            firstOrder(y.square().sum(), x).sum().backward();
            // Back through the average: half of the root's 1 on each rank, times 2; averaged again on the root.
            float second = hvd.rank() == 0 ? 1 : 0;
            assertThat(floats(x.grad())).containsExactly(second, second);
            return null;
        });
    }

    private static Tensor firstOrder(Tensor loss, Tensor x) {
        return torch.grad(
                        new TensorVector(loss),
                        new TensorVector(x),
                        new TensorVector(),
                        new BoolOptional(true),
                        true,
                        false)
                .get(0);
    }

    private static Tensor leaf(float... values) {
        Tensor leaf = Models.tensor(values);
        leaf.requires_grad_(true);
        return leaf;
    }
}
