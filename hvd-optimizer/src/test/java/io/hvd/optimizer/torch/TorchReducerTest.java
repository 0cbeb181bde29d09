package io.hvd.optimizer.torch;

import static io.hvd.optimizer.torch.Models.weights;
import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.optimizer.AmpOptimizer;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.optimizer.GradScaler;
import io.hvd.optimizer.reduce.GradientReducer;
import io.hvd.optimizer.reduce.Int8;
import io.hvd.optimizer.reduce.PowerSgd;
import io.hvd.optimizer.reduce.Threshold;
import io.hvd.optimizer.reduce.TopK;
import java.util.List;
import java.util.function.Supplier;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.SGD;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Reducers of LibTorch's gradients. */
@Timeout(120)
class TorchReducerTest {
    private static final List<Supplier<GradientReducer>> REDUCERS = List.of(
            () -> new PowerSgd(new PowerSgd.Settings(1, 3, 1, true, true, 0, 0)), () -> new TopK(0.25), Int8::new);

    private static DistributedOptimizer optimizer(HvdContext hvd, Models.Net net, GradientReducer reducer) {
        var builder = DistributedOptimizer.wrap(
                        new TorchOptimizer(new SGD(net.parameters(), Models.sgd(0.05)), net.named_parameters()))
                .context(hvd)
                .bucketBytes(1)
                .compareParametersEvery(1);
        return (reducer == null ? builder : builder.reducer(reducer)).build();
    }

    /** The loss after some steps. */
    private static float train(HvdContext hvd, Models.Net net, DistributedOptimizer optimizer) {
        float last = 0;
        for (int step = 0; step < 60; step++) {
            try (PointerScope scope = new PointerScope()) {
                optimizer.zeroGradients();
                var loss = net.loss(8 * hvd.rank(), 8 * hvd.rank() + 8);
                loss.backward();
                optimizer.step();
                last = loss.item_float();
            }
        }
        return last;
    }

    @Test
    void aModelLearnsWithEveryReducerAsWithout() {
        Hvd.spawn(2, hvd -> {
            Models.Net plain = new Models.Net(3);
            float start = plain.loss(8 * hvd.rank(), 8 * hvd.rank() + 8).item_float();
            float expected = train(hvd, plain, optimizer(hvd, plain, null));
            assertThat(expected).isLessThan(start / 2);
            for (var make : REDUCERS) {
                Models.Net net = new Models.Net(3);
                GradientReducer reducer = make.get();
                assertThat(train(hvd, net, optimizer(hvd, net, reducer)))
                        .as(reducer.settings())
                        .isLessThan(expected + start / 10);
                assertThat(weights(net)).isNotEqualTo(weights(plain));
                assertThat(reducer.stateBytes()).isPositive();
            }
            return null;
        });
    }

    /** LibTorch's gradients leave during backward, so the scaler is known from the end of the first step on. */
    @Test
    void aModelLearnsBesideALossScaleWithAndWithoutAnAmpOptimizer() {
        Hvd.spawn(2, hvd -> {
            for (boolean inAmp : new boolean[] {false, true}) {
                for (Supplier<GradientReducer> make :
                        List.<Supplier<GradientReducer>>of(() -> new TopK(0.25), () -> new Threshold(0.02))) {
                    Models.Net net = new Models.Net(3);
                    GradientReducer reducer = make.get();
                    DistributedOptimizer optimizer = optimizer(hvd, net, reducer);
                    GradScaler scaler = GradScaler.builder().growthInterval(20).build();
                    AmpOptimizer amp =
                            inAmp ? AmpOptimizer.wrap(optimizer).scaler(scaler).build() : null;
                    float start = net.loss(8 * hvd.rank(), 8 * hvd.rank() + 8).item_float();
                    for (int step = 0; step < 60; step++) {
                        try (PointerScope scope = new PointerScope()) {
                            (inAmp ? amp : optimizer).zeroGradients();
                            var loss = net.loss(8 * hvd.rank(), 8 * hvd.rank() + 8);
                            if (inAmp) {
                                amp.backward(scale -> TorchOptimizer.backward(loss, scale));
                                amp.step();
                            } else {
                                TorchOptimizer.backward(loss, scaler.scale(1));
                                scaler.step(optimizer);
                                scaler.update();
                            }
                        }
                    }
                    float end = net.loss(8 * hvd.rank(), 8 * hvd.rank() + 8).item_float();
                    assertThat(end).as(reducer.settings() + ", " + inAmp).isLessThan(0.6f * start);
                    assertThat(scaler.scale()).isEqualTo(65536 * 8);
                }
            }
            return null;
        });
    }
}
