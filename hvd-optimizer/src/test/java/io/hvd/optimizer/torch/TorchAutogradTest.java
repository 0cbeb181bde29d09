package io.hvd.optimizer.torch;

import static io.hvd.optimizer.torch.Models.floats;
import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.AllreduceOptions;
import io.hvd.Hvd;
import java.lang.ref.Reference;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.bytedeco.pytorch.BoolOptional;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorArrayRefOptional;
import org.bytedeco.pytorch.TensorBase;
import org.bytedeco.pytorch.TensorTensorHook;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.ScalarType;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Collectives as parts of LibTorch's graph: used twice, not at all, in odd shapes. */
@Timeout(120)
class TorchAutogradTest {
    private static final AllreduceOptions SUM = AllreduceOptions.sum();

    @BeforeAll
    static void unpack() {
        TorchRuntime.prepare();
    }

    @Test
    void anOutputThatIsUsedTwiceGoesBackOnceWithTheSum() {
        Hvd.spawn(2, hvd -> {
            Tensor x = leaf(1, 2);
            Tensor y = new TorchCollectives(hvd).allreduce("x", x, SUM);
            y.mul(Models.tensor(1 + hvd.rank(), 10)).sum().add(y.mul(y).sum()).backward();
            // y is (2, 4), so each rank's gradient of y is its factor and 2 y.
            assertThat(floats(x.grad())).containsExactly(1 + 2 + 2 * 4, 20 + 2 * 8);
            return null;
        });
    }

    @Test
    void anInputOfSeveralCollectivesGetsTheSumOfTheirGradients() {
        Hvd.spawn(2, hvd -> {
            TorchCollectives collectives = new TorchCollectives(hvd);
            Tensor x = leaf(1, 2);
            Tensor sum = collectives.allreduce("sum", x, SUM);
            Tensor all = collectives.allgather("all", x);
            sum.sum().add(all.mul(new Scalar(10)).sum()).add(x.sum()).backward();
            assertThat(floats(x.grad())).containsExactly(2 + 10 + 1, 2 + 10 + 1);
            return null;
        });
    }

    @Test
    void aGraphThatIsRetainedRunsAgain() {
        Hvd.spawn(2, hvd -> {
            Tensor x = leaf(3);
            Tensor loss = new TorchCollectives(hvd).allgather("x", x.mul(x)).mul(new Scalar(1.0 + hvd.rank()));
            for (int pass = 1; pass <= 3; pass++) {
                loss.sum().backward(new Tensor(), new BoolOptional(true), false, new TensorArrayRefOptional());
                assertThat(floats(x.grad())).containsExactly(pass * 1.5f * 6);
            }
            return null;
        });
    }

    @Test
    void aCollectiveAmongOtherLayersPassesTheGradientOn() {
        Hvd.spawn(2, hvd -> {
            Tensor x = leaf(1, 2, 3, 4, 5, 6);
            Tensor transposed = x.reshape(2, 3).t(); // not contiguous
            Tensor y = new TorchCollectives(hvd).allreduce("x", transposed.square(), SUM);
            assertThat(floats(y.detach())).containsExactly(2, 32, 8, 50, 18, 72);
            y.mul(new Scalar(1.0 + hvd.rank())).sum().backward();
            assertThat(floats(x.grad())).containsExactly(6, 12, 18, 24, 30, 36);
            return null;
        });
    }

    @Test
    void scalarsAndTensorsWithoutElementsHaveGradientsToo() {
        Hvd.spawn(2, hvd -> {
            TorchCollectives collectives = new TorchCollectives(hvd);
            Tensor x = leaf(2, 3);
            collectives.allreduce("scalar", x.sum(), SUM).backward();
            assertThat(floats(x.grad())).containsExactly(2, 2);

            Tensor rows = torch.zeros(2 * hvd.rank(), 2);
            rows.requires_grad_(true);
            Tensor all = collectives.allgather("rows", rows);
            assertThat(all.sizes().vec().get()).containsExactly(2, 2);
            all.mul(new Scalar(3)).sum().backward();
            assertThat(floats(rows.grad())).isEqualTo(hvd.rank() == 0 ? new float[0] : new float[] {3, 3, 3, 3});
            return null;
        });
    }

    @Test
    void anInputThatNeedsNoGradientLeavesNoGraph() {
        Hvd.spawn(2, hvd -> {
            TorchCollectives collectives = new TorchCollectives(hvd);
            assertThat(collectives.allreduce("data", Models.tensor(1, 2)).requires_grad())
                    .isFalse();
            Tensor whole = collectives.allreduce("whole", Models.tensor(1, 2).to(ScalarType.Long), SUM);
            assertThat(whole.scalar_type().intern()).isEqualTo(ScalarType.Long);
            try (NoGradGuard guard = new NoGradGuard()) {
                assertThat(collectives.allgather("evaluation", leaf(1, 2)).requires_grad())
                        .isFalse();
            }
            return null;
        });
    }

    @Test
    void aMemberOfAGroupThatIsNotUsedCountsAsZeros() {
        Hvd.spawn(2, hvd -> {
            List<Tensor> xs = List.of(leaf(1, 2), leaf(3));
            List<Tensor> ys = new TorchCollectives(hvd).groupedAllreduce("group", xs, SUM);
            ys.get(hvd.rank()).sum().backward();
            assertThat(floats(xs.get(0).grad())).containsExactly(1, 1);
            assertThat(floats(xs.get(1).grad())).containsExactly(1);
            return null;
        });
    }

    @Test
    void theGradientOfAnOutputAloneCallsNoCollectiveAndLeavesNothingBehind() {
        Hvd.spawn(2, hvd -> {
            List<Tensor> xs = List.of(leaf(1, 2), leaf(3));
            List<Tensor> ys = new TorchCollectives(hvd).groupedAllreduce("group", xs, SUM);
            if (hvd.rank() == 1) {
                Tensor alone = gradient(ys.get(0).mul(new Scalar(7)).sum(), ys.get(0));
                assertThat(floats(alone)).containsExactly(7, 7);
            }
            ys.get(1).sum().backward();
            assertThat(floats(xs.get(0).grad())).containsExactly(0, 0);
            assertThat(floats(xs.get(1).grad())).containsExactly(2);
            return null;
        });
    }

    @Test
    void inputsAndOutputsMayBeChangedInPlaceAfterwards() {
        Hvd.spawn(2, hvd -> {
            Tensor x = leaf(1, 2);
            Tensor input = x.mul(new Scalar(3));
            Tensor y = new TorchCollectives(hvd).allreduce("x", input, SUM);
            input.zero_();
            assertThat(floats(y.mul_(new Scalar(5)).detach())).containsExactly(30, 60);
            y.sum().backward();
            assertThat(floats(x.grad())).containsExactly(2 * 5 * 3, 2 * 5 * 3);
            return null;
        });
    }

    @Test
    void anOutputMayHaveHooksOfTheProgram() {
        Hvd.spawn(2, hvd -> {
            Tensor x = leaf(1, 2);
            Tensor y = new TorchCollectives(hvd).allgather("x", x);
            List<String> seen = new ArrayList<>();
            var doubled = new TensorTensorHook() {
                @Override
                public TensorBase call(TensorBase gradient) {
                    seen.add(Arrays.toString(floats(new Tensor(gradient).contiguous())));
                    return new Tensor(gradient).mul(new Scalar(2)); // freed by the garbage collector
                }
            };
            y.register_hook(doubled);
            y.retain_grad();
            y.sum().backward();
            Reference.reachabilityFence(doubled);
            assertThat(seen).containsExactly("[1.0, 1.0, 1.0, 1.0]");
            assertThat(floats(y.grad())).containsExactly(2, 2, 2, 2);
            assertThat(floats(x.grad())).containsExactly(2, 2);
            return null;
        });
    }

    @Test
    void theMembersOfAGroupMayBeOfDifferentTypes() {
        Hvd.spawn(2, hvd -> {
            Tensor whole = Models.tensor(4).to(ScalarType.Int);
            Tensor single = leaf(1);
            Tensor twice = GradientSamples.leaf(ScalarType.Double, 1, 1);
            Tensor half = GradientSamples.leaf(ScalarType.Half, 2, 1);
            List<Tensor> ys =
                    new TorchCollectives(hvd).groupedAllreduce("group", List.of(whole, single, twice, half), SUM);
            assertThat(ys)
                    .extracting(y -> y.scalar_type().intern())
                    .containsExactly(ScalarType.Int, ScalarType.Float, ScalarType.Double, ScalarType.Half);
            assertThat(ys.get(0).requires_grad()).as("whole numbers").isFalse();
            double third = 1.0 / 3;
            Tensor loss = ys.get(1).add(ys.get(2).mul(new Scalar(third))).add(ys.get(3));
            loss.sum().backward();
            assertThat(floats(single.grad())).containsExactly(2);
            assertThat(twice.grad().item_double()).isEqualTo(2 * third);
            assertThat(floats(half.grad())).containsExactly(2);
            return null;
        });
    }

    @Test
    void aGradientThatIsNotFiniteStaysOnTheRootOfABroadcast() {
        Hvd.spawn(2, hvd -> {
            Tensor x = leaf(1, 1);
            Tensor y = new TorchCollectives(hvd).broadcast("x", x, 1);
            y.mul(Models.tensor(Float.POSITIVE_INFINITY, Float.NaN)).sum().backward();
            if (hvd.rank() == 1) {
                assertThat(floats(x.grad())).containsExactly(Float.POSITIVE_INFINITY, Float.NaN);
            } else {
                assertThat(floats(x.grad())).containsExactly(0, 0);
            }
            return null;
        });
    }

    @Test
    void aRankThatHasNoUseForAnOutputTakesPartWithAFactorOfZero() {
        Hvd.spawn(2, hvd -> {
            Tensor x = leaf(1, 2);
            Tensor y = new TorchCollectives(hvd).allgather("x", x);
            y.sum().mul(new Scalar(hvd.rank())).backward();
            assertThat(floats(x.grad())).containsExactly(0.5f, 0.5f);
            return null;
        });
    }

    @Test
    void ranksWhoseLossesUseTheOutputsInAnotherOrderStillMeet() {
        Hvd.spawn(2, hvd -> {
            TorchCollectives collectives = new TorchCollectives(hvd);
            Tensor a = leaf(1);
            Tensor b = leaf(2);
            Tensor ya = collectives.allreduce(null, a, SUM);
            Tensor yb = collectives.allreduce(null, b, SUM);
            Tensor loss = hvd.rank() == 0
                    ? ya.square().square().sum().add(yb.sum())
                    : yb.square().tanh().square().sum().mul(new Scalar(0)).add(ya.sum());
            loss.backward();
            assertThat(floats(a.grad())).containsExactly(4 * 2 * 2 * 2 + 1);
            assertThat(floats(b.grad())).containsExactly(1);
            return null;
        });
    }

    private static Tensor gradient(Tensor loss, Tensor of) {
        return torch.grad(new TensorVector(loss), new TensorVector(of)).get(0);
    }

    private static Tensor leaf(float... values) {
        Tensor leaf = Models.tensor(values);
        leaf.requires_grad_(true);
        return leaf;
    }
}
