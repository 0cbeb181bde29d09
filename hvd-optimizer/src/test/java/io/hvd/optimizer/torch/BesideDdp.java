package io.hvd.optimizer.torch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;
import static org.bytedeco.pytorch.global.torch.manual_seed;

import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.optimizer.DistributedOptimizer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Optimizer;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.Tensor;

/** What each rank of {@link DdpOracleIT} runs: the same training twice, averaged by LibTorch and by us. */
final class BesideDdp {
    private static final double TOLERANCE = 1e-5;

    private BesideDdp() {}

    public static void main(String[] args) {
        try (HvdContext hvd = Hvd.init()) {
            RandomImages images = new RandomImages(hvd.size(), hvd.rank());
            SmallConvNet theirs = newNet();
            SmallConvNet ours = newNet();

            float[] theirLosses = trainWithDdp(hvd, theirs, images);
            System.gc(); // if DDP's memory was freed too early or twice, this rank ends here every time
            float[] ourLosses = train(ours, images);

            for (int step = 0; step < RandomImages.STEPS; step++) {
                assertThat(ourLosses[step])
                        .as("loss of step %d", step)
                        .isCloseTo(theirLosses[step], within((float) TOLERANCE * theirLosses[step]));
            }
            Weights.assertSame(TorchTensors.parameters(ours), TorchTensors.parameters(theirs), TOLERANCE);
            Weights.assertMoved(TorchTensors.parameters(ours), TorchTensors.parameters(newNet()));
            System.out.println("rank " + hvd.rank() + " of " + hvd.size() + " agrees with DDP");
        }
    }

    private static float[] trainWithDdp(HvdContext hvd, SmallConvNet net, RandomImages images) {
        Optimizer sgd = sgd(net);
        float[] losses = new float[RandomImages.STEPS];
        try (DdpReducer ddp = new DdpReducer(hvd, net.parameters())) {
            for (int step = 0; step < losses.length; step++) {
                try (PointerScope scope = new PointerScope()) {
                    sgd.zero_grad();
                    ddp.beforeForward();
                    Tensor loss = images.loss(net, step);
                    ddp.beforeBackward();
                    loss.backward();
                    sgd.step();
                    losses[step] = loss.item_float();
                }
            }
        }
        return losses;
    }

    private static float[] train(SmallConvNet net, RandomImages images) {
        DistributedOptimizer optimizer = DistributedOptimizer.wrap(new TorchOptimizer(sgd(net), net.named_parameters()))
                .build();
        float[] losses = new float[RandomImages.STEPS];
        for (int step = 0; step < losses.length; step++) {
            try (PointerScope scope = new PointerScope()) {
                optimizer.zeroGradients();
                Tensor loss = images.loss(net, step);
                loss.backward();
                optimizer.step();
                losses[step] = loss.item_float();
            }
        }
        return losses;
    }

    private static SmallConvNet newNet() {
        manual_seed(1);
        return new SmallConvNet();
    }

    private static Optimizer sgd(SmallConvNet net) {
        SGDOptions options = new SGDOptions(0.05);
        options.momentum().put(0.9);
        return new SGD(net.parameters(), options);
    }
}
