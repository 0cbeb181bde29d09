package io.hvd.examples.image;

import static org.bytedeco.pytorch.global.torch.relu;

import java.util.ArrayList;
import java.util.List;
import org.bytedeco.pytorch.BatchNorm2dImpl;
import org.bytedeco.pytorch.Conv2dImpl;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Tensor;

/** Convolutions whose result is added to their input. */
final class ResidualBlock extends Module {
    /** Two 3x3 convolutions. */
    static final Kind BASIC = new Kind(List.of(3, 3), 0, 1);

    /**
     * A 1x1 convolution to fewer channels, a 3x3 one, and a 1x1 one to four times as many channels. The stride is the 3x3
     * convolution's, as in torchvision; the paper gives it to the first.
     */
    static final Kind BOTTLENECK = new Kind(List.of(1, 3, 1), 1, 4);

    /**
     * The differences between the two kinds of block.
     *
     * @param sides of the convolutions' kernels
     * @param strided index of the convolution that has the block's stride
     * @param expansion channels of the result for each of the inner channels
     */
    record Kind(List<Integer> sides, int strided, int expansion) {
        int out(int channels) {
            return channels * expansion;
        }
    }

    private final List<Conv2dImpl> convolutions = new ArrayList<>();
    private final List<BatchNorm2dImpl> norms = new ArrayList<>();

    /** The projection of the input; null if the input has the shape of the result. */
    private final Projection downsample;

    /** @param channels those of all convolutions but the last of a bottleneck, which has four times as many */
    ResidualBlock(Kind kind, int in, int channels, int stride) {
        int out = kind.out(channels);
        int last = kind.sides().size() - 1;
        for (int i = 0; i <= last; i++) {
            add(
                    i == 0 ? in : channels,
                    i == last ? out : channels,
                    kind.sides().get(i),
                    i == kind.strided() ? stride : 1);
        }
        boolean sameShape = in == out && stride == 1;
        downsample = sameShape ? null : register_module("downsample", new Projection(in, out, stride));
    }

    private void add(int in, int out, int side, int stride) {
        int number = convolutions.size() + 1;
        convolutions.add(register_module("conv" + number, Layers.convolution(in, out, side, stride)));
        norms.add(register_module("bn" + number, Layers.batchNorm(out)));
    }

    Tensor forward(Tensor input) {
        int last = convolutions.size() - 1;
        Tensor x = input;
        for (int i = 0; i < last; i++) {
            x = relu(layer(i, x));
        }
        x = layer(last, x);
        return relu(x.add_(downsample == null ? input : downsample.forward(input)));
    }

    private Tensor layer(int i, Tensor x) {
        return norms.get(i).forward(convolutions.get(i).forward(x));
    }

    /** Gives the input the shape of the result. */
    private static final class Projection extends Module {
        private final Conv2dImpl convolution;
        private final BatchNorm2dImpl norm;

        Projection(int in, int out, int stride) {
            convolution = register_module("0", Layers.convolution(in, out, 1, stride));
            norm = register_module("1", Layers.batchNorm(out));
        }

        Tensor forward(Tensor input) {
            return norm.forward(convolution.forward(input));
        }
    }
}
