package io.hvd.optimizer.torch.norm;

import static io.hvd.optimizer.torch.NormNet.samples;
import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.Hvd;
import io.hvd.optimizer.torch.Models;
import io.hvd.optimizer.torch.TorchRuntime;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch.ScalarType;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What LibTorch brings to the hook of a normalisation. */
@Timeout(60)
class MomentsHookTest {
    @BeforeAll
    static void unpack() {
        TorchRuntime.prepare();
    }

    /** What LibTorch brings where the loss does not depend on a tensor. */
    @Test
    void anUndefinedGradientTakesPartAsZeros() {
        Hvd.spawn(2, hvd -> {
            try (NoGradGuard guard = new NoGradGuard()) {
                Tensor x = samples(hvd.rank(), hvd.rank() + 4, 3);
                BatchMoments moments = BatchMoments.over(hvd, "moments", x, ScalarType.Float);
                var hook = new MomentsHook(hvd, "gradient", x, moments, 1e-5);
                Tensor outer = samples(7, 11, 3);
                boolean first = hvd.rank() == 0;
                Tensor expected = hook.replaced(first ? outer.mul(new Scalar(0)) : outer);
                Tensor found = hook.replaced(first ? null : outer);
                assertThat(Models.floats(found)).containsExactly(Models.floats(expected));
                assertThat(found.abs().max().item_double()).isPositive();
            }
            return null;
        });
    }
}
