package io.hvd.benchmarks.rank;

import static org.bytedeco.pytorch.global.torch.nll_loss;
import static org.bytedeco.pytorch.global.torch.randn;
import static org.bytedeco.pytorch.global.torch.zeros;

import io.hvd.examples.image.ImageClassifier;
import io.hvd.examples.image.MnistNet;
import io.hvd.examples.image.ResNet;
import io.hvd.examples.training.SeededModule;
import java.util.function.Supplier;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch.ScalarType;

/** The nets that are trained. Their images and labels are drawn once, because the time does not depend on them. */
public enum Net {
    /** The net of the example {@code mnist}. */
    MNIST(MnistNet::new, 21_840, 64, 1, 28),
    /** ResNet-18 with a quarter of the paper's channels. */
    RESNET(() -> ResNet.named("resnet18", ResNet.Stem.CIFAR, 10, 16), 701_466, 16, 3, 32);

    private static final long SEED = 42;

    private final Supplier<ImageClassifier> maker;
    private final int parameters;
    private final int batch;
    private final int channels;
    private final int side;

    Net(Supplier<ImageClassifier> maker, int parameters, int batch, int channels, int side) {
        this.maker = maker;
        this.parameters = parameters;
        this.batch = batch;
        this.channels = channels;
        this.side = side;
    }

    /** The number of bytes of all gradients. */
    public long bytes() {
        return (long) Float.BYTES * parameters;
    }

    /** The number of images per rank and step. */
    public int batch() {
        return batch;
    }

    ImageClassifier make() {
        return SeededModule.seeded(SEED, maker);
    }

    Tensor images() {
        return randn(batch, channels, side, side);
    }

    Tensor labels() {
        return zeros(new long[] {batch}, new TensorOptions(ScalarType.Long));
    }

    static Tensor loss(ImageClassifier net, Tensor images, Tensor labels) {
        return nll_loss(net.forward(images), labels);
    }
}
