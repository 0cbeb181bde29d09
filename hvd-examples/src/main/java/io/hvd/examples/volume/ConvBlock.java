package io.hvd.examples.volume;

import org.bytedeco.javacpp.LongPointer;
import org.bytedeco.pytorch.BatchNorm3dImpl;
import org.bytedeco.pytorch.BatchNormOptions;
import org.bytedeco.pytorch.Conv3dImpl;
import org.bytedeco.pytorch.Conv3dOptions;
import org.bytedeco.pytorch.ConvTranspose3dImpl;
import org.bytedeco.pytorch.ConvTranspose3dOptions;
import org.bytedeco.pytorch.InstanceNorm3dImpl;
import org.bytedeco.pytorch.InstanceNormOptions;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.PReLUImpl;
import org.bytedeco.pytorch.Tensor;

/** A convolution, a norm and a PReLU, of which the last two may be left out. */
final class ConvBlock extends Module {
    private static final int SIDE = 3;

    /** Exactly one of the two convolutions is there. */
    private final Conv3dImpl convolution;

    private final ConvTranspose3dImpl transposed;
    private final NormAndActivation adn;

    private ConvBlock(Conv3dImpl convolution, ConvTranspose3dImpl transposed, NormAndActivation adn) {
        this.convolution = convolution == null ? null : register_module("conv", convolution);
        this.transposed = transposed == null ? null : register_module("conv", transposed);
        this.adn = adn == null ? null : register_module("adn", adn);
    }

    static ConvBlock convolving(int in, int out, int stride, VolumeNorm norm) {
        return new ConvBlock(convolution(in, out, SIDE, stride), null, new NormAndActivation(out, norm));
    }

    /** The convolution alone. */
    static ConvBlock bare(int in, int out) {
        return new ConvBlock(convolution(in, out, SIDE, 1), null, null);
    }

    /** The result has twice as many voxels along each side. */
    static ConvBlock doubling(int in, int out, VolumeNorm norm) {
        ConvTranspose3dOptions options = new ConvTranspose3dOptions(in, out, cube(SIDE));
        options.stride().put(cube(2));
        options.padding().put(cube(1));
        options.output_padding().put(cube(1));
        return new ConvBlock(null, new ConvTranspose3dImpl(options), new NormAndActivation(out, norm));
    }

    static Conv3dImpl convolution(int in, int out, int side, int stride) {
        Conv3dOptions options = new Conv3dOptions(in, out, cube(side));
        options.stride().put(cube(stride));
        options.padding().put(cube(side / 2));
        return new Conv3dImpl(options);
    }

    private static LongPointer cube(long side) {
        return new LongPointer(side, side, side);
    }

    Tensor forward(Tensor x) {
        Tensor convolved = convolution == null ? transposed.forward(x) : convolution.forward(x);
        return adn == null ? convolved : adn.forward(convolved);
    }

    /** A norm, then a PReLU with one parameter. */
    private static final class NormAndActivation extends Module {
        /** Exactly one of the two norms is there. JavaCPP frees them with their Java objects. */
        private final InstanceNorm3dImpl instances;

        private final BatchNorm3dImpl batches;
        private final PReLUImpl activation;

        NormAndActivation(int channels, VolumeNorm norm) {
            boolean isBatch = norm == VolumeNorm.BATCH;
            instances =
                    isBatch ? null : register_module("N", new InstanceNorm3dImpl(new InstanceNormOptions(channels)));
            batches = isBatch ? register_module("N", new BatchNorm3dImpl(new BatchNormOptions(channels))) : null;
            activation = register_module("A", new PReLUImpl());
        }

        Tensor forward(Tensor x) {
            return activation.forward(instances == null ? batches.forward(x) : instances.forward(x));
        }
    }
}
