package io.hvd.optimizer.torch;

import static org.bytedeco.pytorch.global.torch.mse_loss;

import io.hvd.AllreduceOptions;
import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.optimizer.AmpOptimizer;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Tensor;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.global.torch.DeviceType;
import org.bytedeco.pytorch.global.torch.ScalarType;

/** What each rank of {@link OverflowIT} runs: 30 steps in bfloat16, of which the last rank spoils one. */
final class OverflowProgram {
    private static final int STEPS = 30;
    private static final int SPOILT = 20;

    private OverflowProgram() {}

    public static void main(String[] args) {
        try (HvdContext hvd = Hvd.init()) {
            Models.Net net = new Models.Net(7);
            AmpOptimizer amp = AmpOptimizer.wrap(DistributedOptimizer.wrap(new TorchOptimizer(
                                    new SGD(net.parameters(), Models.sgd(0.05)), net.named_parameters()))
                            .build())
                    .clipGradientNorm(10)
                    .build();
            amp.broadcastParameters(0);
            for (int step = 0; step < STEPS; step++) {
                float[] before = Models.weights(net);
                step(amp, net, step * hvd.size() + hvd.rank(), step == SPOILT && hvd.rank() == hvd.size() - 1);
                boolean moved = !Arrays.equals(before, Models.weights(net));
                if (moved == (step == SPOILT)) {
                    throw new AssertionError("step " + step + (moved ? " moved" : " did not move") + " the weights");
                }
            }
            report(hvd, amp, net);
        }
    }

    private static void step(AmpOptimizer amp, Models.Net net, int sample, boolean spoilt) {
        try (PointerScope scope = new PointerScope()) {
            amp.zeroGradients();
            List<org.bytedeco.pytorch.Tensor> loss = new ArrayList<>();
            try (Autocast narrow = Autocast.to(ScalarType.BFloat16, DeviceType.CPU)) {
                loss.add(mse_loss(net.forward(Models.inputs(sample, sample + 4)), Models.targets(sample, sample + 4))
                        .mul(new Scalar(spoilt ? Double.POSITIVE_INFINITY : 1)));
            }
            amp.backward(scale -> TorchOptimizer.backward(loss.get(0), scale));
            amp.step();
        }
    }

    private static void report(HvdContext hvd, AmpOptimizer amp, Models.Net net) {
        Tensor weights = Tensor.of(Models.weights(net));
        Tensor least = hvd.allreduce("least", weights, AllreduceOptions.of(ReduceOp.MIN));
        Tensor most = hvd.allreduce("most", weights, AllreduceOptions.of(ReduceOp.MAX));
        System.out.println("END scale=" + amp.scaler().scale() + " tracker="
                + amp.scaler().growthTracker() + " skipped=" + amp.skippedSteps() + " same="
                + Arrays.equals(least.toFloatArray(), most.toFloatArray()));
    }
}
