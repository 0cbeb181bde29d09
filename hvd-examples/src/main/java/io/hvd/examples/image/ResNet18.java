package io.hvd.examples.image;

import static org.bytedeco.pytorch.global.torch.adaptive_avg_pool2d;
import static org.bytedeco.pytorch.global.torch.log_softmax;
import static org.bytedeco.pytorch.global.torch.relu;

import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;
import org.bytedeco.javacpp.LongPointer;
import org.bytedeco.pytorch.BatchNorm2dImpl;
import org.bytedeco.pytorch.Conv2dImpl;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.MaxPool2dImpl;
import org.bytedeco.pytorch.MaxPool2dOptions;
import org.bytedeco.pytorch.Tensor;

/**
 * The residual net of 18 layers for colour images of any size: a stem, four pairs of residual blocks, a mean over all
 * pixels, one dense layer. With width 64 it has 11,173,962 parameters for ten classes with the stem for small images,
 * and 11,689,512 for a thousand classes with the other stem. The parameters have torchvision's names. (LibTorch calls
 * modules that are written in Java, so Java must keep references to them.)
 *
 * <p>K. He, X. Zhang, S. Ren, J. Sun, "Deep Residual Learning for Image Recognition", CVPR 2016.
 */
public final class ResNet18 extends ImageClassifier {
    /** The first layers. */
    public enum Stem {
        /** For images of about 32x32 pixels: a 3x3 convolution that keeps the number of pixels. */
        CIFAR,
        /** For large images: a 7x7 convolution and a pooling, which leave one of 16 pixels. */
        IMAGENET;

        String word() {
            return name().toLowerCase(Locale.ROOT);
        }

        static Stem of(String word) {
            return valueOf(word.toUpperCase(Locale.ROOT));
        }

        static List<String> words() {
            return Stream.of(values()).map(Stem::word).toList();
        }
    }

    private final Conv2dImpl conv1;
    private final BatchNorm2dImpl bn1;
    private final MaxPool2dImpl maxPool;
    private final List<ResidualStage> stages;
    private final LinearImpl dense;

    /**
     * @param width channels of the first stage; each further stage has twice as many as the one before; 64 in the paper
     */
    public ResNet18(Stem stem, int classes, int width) {
        boolean small = stem == Stem.CIFAR;
        conv1 = register_module(
                "conv1", small ? Layers.convolution(3, width, 3, 1) : Layers.convolution(3, width, 7, 2));
        bn1 = register_module("bn1", Layers.batchNorm(width));
        maxPool = small ? null : register_module("maxpool", halving());
        stages = List.of(
                register_module("layer1", new ResidualStage(width, width, 1)),
                register_module("layer2", new ResidualStage(width, 2 * width, 2)),
                register_module("layer3", new ResidualStage(2 * width, 4 * width, 2)),
                register_module("layer4", new ResidualStage(4 * width, 8 * width, 2)));
        dense = register_module("fc", new LinearImpl(8L * width, classes));
    }

    @Override
    public Tensor forward(Tensor images) {
        Tensor x = relu(bn1.forward(conv1.forward(images)));
        if (maxPool != null) {
            x = maxPool.forward(x);
        }
        for (ResidualStage stage : stages) {
            x = stage.forward(x);
        }
        x = adaptive_avg_pool2d(x, 1, 1).flatten(1, -1);
        return log_softmax(dense.forward(x), 1);
    }

    private static MaxPool2dImpl halving() {
        MaxPool2dOptions options = new MaxPool2dOptions(new LongPointer(3, 3));
        options.stride().put(0, 2).put(1, 2);
        options.padding().put(0, 1).put(1, 1);
        return new MaxPool2dImpl(options);
    }
}
