package io.hvd.benchmarks.rank;

import java.util.ArrayList;
import java.util.List;

/**
 * The number of elements of each of the 161 parameters of ResNet-50 for 1000 classes, from the first layer to the last:
 * convolutions without bias, each followed by a batch norm with two parameters, and one dense layer.
 *
 * <p>K. He, X. Zhang, S. Ren, J. Sun, "Deep Residual Learning for Image Recognition", CVPR 2016, table 1.
 */
public final class ResNet50 {
    private static final int CLASSES = 1000;
    /** The ratio of the channels of a block's last convolution to those of the others. */
    private static final int EXPANSION = 4;

    /**
     * @param blocks number of bottleneck blocks; the first one also projects its input to the new number of channels
     */
    private record Stage(int blocks, int channels) {}

    private static final List<Stage> STAGES =
            List.of(new Stage(3, 64), new Stage(4, 128), new Stage(6, 256), new Stage(3, 512));

    private ResNet50() {}

    public static List<Integer> parameterSizes() {
        List<Integer> sizes = new ArrayList<>();
        addConvolution(sizes, 3, 64, 7);
        int in = 64;
        for (Stage stage : STAGES) {
            for (int block = 0; block < stage.blocks(); block++) {
                addBottleneck(sizes, in, stage.channels(), block == 0);
                in = EXPANSION * stage.channels();
            }
        }
        sizes.add(in * CLASSES);
        sizes.add(CLASSES);
        return sizes;
    }

    private static void addBottleneck(List<Integer> sizes, int in, int channels, boolean projects) {
        addConvolution(sizes, in, channels, 1);
        addConvolution(sizes, channels, channels, 3);
        addConvolution(sizes, channels, EXPANSION * channels, 1);
        if (projects) {
            addConvolution(sizes, in, EXPANSION * channels, 1);
        }
    }

    private static void addConvolution(List<Integer> sizes, int in, int out, int side) {
        sizes.add(in * out * side * side);
        sizes.add(out);
        sizes.add(out);
    }
}
