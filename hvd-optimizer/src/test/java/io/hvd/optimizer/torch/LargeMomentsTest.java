package io.hvd.optimizer.torch;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.optimizer.torch.state.MomentsArchive;
import java.util.Map;
import java.util.TreeMap;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Adam;
import org.bytedeco.pytorch.AdamOptions;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The moments of a FullyShard's shard beyond 2^31 bytes: Adam with a third buffer on 180 million parameters. */
@Tag("long")
@Timeout(900)
class LargeMomentsTest {
    private static final long LENGTH = 180_000_000;

    @Test
    void theMomentsOfALargeShardAreReadAndTakenOver() {
        TorchRuntime.prepare();
        try (PointerScope scope = new PointerScope()) {
            Map<String, Tensor> moments = new TreeMap<>(MomentsArchive.read(adam(true)));
            assertThat(moments.values().stream().mapToLong(Tensor::nbytes).sum())
                    .isGreaterThan(1L << 31);

            Adam other = adam(false);
            MomentsArchive.write(other, "flat_param", moments);
            moments.values().forEach(Tensor::close);
            TreeMap<String, Tensor> taken = MomentsArchive.read(other);
            assertThat(taken).containsOnlyKeys("exp_avg", "exp_avg_sq", "max_exp_avg_sq", "step");
            assertThat(taken.get("step").item_long()).isEqualTo(1);
            assertThat(last(taken.get("exp_avg"))).isEqualTo(0.1f * 3);
        }
    }

    private static Adam adam(boolean steps) {
        AdamOptions options = new AdamOptions(0.1);
        options.amsgrad().put(true);
        Tensor parameter = torch.zeros(LENGTH).set_requires_grad(true);
        Adam adam = new Adam(new TensorVector(parameter), options);
        if (steps) {
            parameter
                    .mutable_grad()
                    .put(torch.full(new long[] {1}, new org.bytedeco.pytorch.Scalar(3f))
                            .expand(LENGTH));
            adam.step().close();
        }
        return adam;
    }

    private static float last(Tensor tensor) {
        return tensor.narrow(0, LENGTH - 1, 1).item_float();
    }
}
