package io.hvd.examples.image;

import static org.bytedeco.pytorch.global.torch.relu;

import org.bytedeco.pytorch.BatchNorm2dImpl;
import org.bytedeco.pytorch.Conv2dImpl;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Tensor;

/** Two 3x3 convolutions whose result is added to their input. */
final class ResidualBlock extends Module {
    private final Conv2dImpl conv1;
    private final BatchNorm2dImpl bn1;
    private final Conv2dImpl conv2;
    private final BatchNorm2dImpl bn2;

    /** The projection of the input; null if the input has the shape of the result. */
    private final Projection downsample;

    ResidualBlock(int in, int out, int stride) {
        conv1 = register_module("conv1", Layers.convolution(in, out, 3, stride));
        bn1 = register_module("bn1", Layers.batchNorm(out));
        conv2 = register_module("conv2", Layers.convolution(out, out, 3, 1));
        bn2 = register_module("bn2", Layers.batchNorm(out));
        boolean sameShape = in == out && stride == 1;
        downsample = sameShape ? null : register_module("downsample", new Projection(in, out, stride));
    }

    Tensor forward(Tensor input) {
        Tensor x = relu(bn1.forward(conv1.forward(input)));
        x = bn2.forward(conv2.forward(x));
        return relu(x.add_(downsample == null ? input : downsample.forward(input)));
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
