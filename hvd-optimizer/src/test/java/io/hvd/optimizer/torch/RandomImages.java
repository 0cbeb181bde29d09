package io.hvd.optimizer.torch;

import static org.bytedeco.pytorch.global.torch.manual_seed;
import static org.bytedeco.pytorch.global.torch.nll_loss;
import static org.bytedeco.pytorch.global.torch.randint;
import static org.bytedeco.pytorch.global.torch.randn;

import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch.ScalarType;

/** One batch of noise with random labels for every step: the same on all ranks, each takes its part of each batch. */
final class RandomImages {
    static final int STEPS = 20;

    /** Can be divided by 1, 2 and 4 ranks. */
    private static final int BATCH = 32;

    private static final long SEED = 20;

    private final Tensor images;
    private final Tensor labels;
    private final int share;
    private final int rank;

    RandomImages(int ranks, int rank) {
        manual_seed(SEED);
        this.images = randn(STEPS * BATCH, 1, SmallConvNet.SIDE, SmallConvNet.SIDE);
        this.labels = randint(SmallConvNet.CLASSES, new long[] {STEPS * BATCH}, new TensorOptions(ScalarType.Long));
        this.share = BATCH / ranks;
        this.rank = rank;
    }

    /** The mean loss over this rank's part of a step's batch. */
    Tensor loss(SmallConvNet net, int step) {
        long first = (long) step * BATCH + (long) rank * share;
        return nll_loss(net.forward(images.narrow(0, first, share)), labels.narrow(0, first, share));
    }
}
