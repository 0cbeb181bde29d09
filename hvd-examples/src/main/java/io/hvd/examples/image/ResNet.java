package io.hvd.examples.image;

import static org.bytedeco.pytorch.global.torch.adaptive_avg_pool2d;
import static org.bytedeco.pytorch.global.torch.log_softmax;
import static org.bytedeco.pytorch.global.torch.relu;

import java.util.ArrayList;
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
 * The residual nets of 18, 34, 50 and 101 layers for colour images of any size: a stem, four stages of residual blocks, a
 * mean over all pixels, one dense layer. For a thousand classes and with the stem for large images they have 11,689,512,
 * 21,797,672, 25,557,032 and 44,549,160 parameters, under torchvision's names. (LibTorch calls modules that are written in
 * Java, so Java must keep references to them.)
 *
 * <p>K. He, X. Zhang, S. Ren, J. Sun, "Deep Residual Learning for Image Recognition", CVPR 2016.
 */
public final class ResNet extends ImageClassifier {
    private static final int WIDTH_OF_THE_PAPER = 64;

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

    /** The nets of table 1 of the paper: kind of block, and number of blocks in each stage. */
    private enum Depth {
        RESNET18(ResidualBlock.BASIC, 2, 2, 2, 2),
        RESNET34(ResidualBlock.BASIC, 3, 4, 6, 3),
        RESNET50(ResidualBlock.BOTTLENECK, 3, 4, 6, 3),
        RESNET101(ResidualBlock.BOTTLENECK, 3, 4, 23, 3);

        final ResidualBlock.Kind kind;
        final List<Integer> blocks;

        Depth(ResidualBlock.Kind kind, Integer... blocks) {
            this.kind = kind;
            this.blocks = List.of(blocks);
        }

        String word() {
            return name().toLowerCase(Locale.ROOT);
        }

        static Depth of(String word) {
            return Stream.of(values())
                    .filter(depth -> depth.word().equals(word))
                    .findFirst()
                    .orElseThrow(
                            () -> new IllegalArgumentException("no residual net is called " + word + ": " + names()));
        }
    }

    private final Conv2dImpl conv1;
    private final BatchNorm2dImpl bn1;
    private final MaxPool2dImpl maxPool;
    private final List<ResidualStage> stages = new ArrayList<>();
    private final LinearImpl dense;

    private ResNet(Depth depth, Stem stem, int classes, int width) {
        boolean small = stem == Stem.CIFAR;
        conv1 = register_module(
                "conv1", small ? Layers.convolution(3, width, 3, 1) : Layers.convolution(3, width, 7, 2));
        bn1 = register_module("bn1", Layers.batchNorm(width));
        maxPool = small ? null : register_module("maxpool", halving());
        int in = width;
        for (int i = 0; i < depth.blocks.size(); i++) {
            ResidualStage stage = new ResidualStage(depth.kind, depth.blocks.get(i), in, width << i, i == 0 ? 1 : 2);
            stages.add(register_module("layer" + (i + 1), stage));
            in = depth.kind.out(width << i);
        }
        dense = register_module("fc", new LinearImpl(in, classes));
    }

    /** The names that {@link #named} takes, the smallest net first. */
    public static List<String> names() {
        return Stream.of(Depth.values()).map(Depth::word).toList();
    }

    /**
     * Draws the weights of a net.
     *
     * @param name one of {@link #names}
     * @throws IllegalArgumentException if no net has this name
     */
    public static ResNet named(String name, Stem stem, int classes) {
        return named(name, stem, classes, WIDTH_OF_THE_PAPER);
    }

    /**
     * Draws the weights of a net that is narrower or wider than the paper's.
     *
     * @param width channels of the first stage's 3x3 convolutions; each further stage has twice as many as the one before;
     *     64 in the paper
     */
    public static ResNet named(String name, Stem stem, int classes, int width) {
        return new ResNet(Depth.of(name), stem, classes, width);
    }

    /**
     * @param images (batch, 3, rows, columns)
     * @return logarithms of probabilities, (batch, classes)
     */
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
