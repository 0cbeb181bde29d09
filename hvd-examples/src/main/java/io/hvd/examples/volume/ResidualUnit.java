package io.hvd.examples.volume;

import org.bytedeco.pytorch.Conv3dImpl;
import org.bytedeco.pytorch.Tensor;

/** One or two convolutions whose result is added to their input, which a convolution of its own brings to the same shape. */
final class ResidualUnit extends VolumeLayer {
    private static final int SIDE = 3;

    private final ConvSequential chain;
    /** Null if the input has the shape of the result. */
    private final Conv3dImpl residual;

    private ResidualUnit(Conv3dImpl residual, ConvBlock... blocks) {
        this.chain = register_module("conv", new ConvSequential("unit", blocks));
        this.residual = residual == null ? null : register_module("residual", residual);
    }

    /** Two convolutions, the first of them with this stride. */
    static ResidualUnit ofTwo(int in, int out, int stride, VolumeNorm norm) {
        boolean sameShape = in == out && stride == 1;
        return new ResidualUnit(
                sameShape ? null : ConvBlock.convolution(in, out, stride == 1 ? 1 : SIDE, stride),
                ConvBlock.convolving(in, out, stride, norm),
                ConvBlock.convolving(out, out, 1, norm));
    }

    static ResidualUnit ofOne(int channels, VolumeNorm norm) {
        return new ResidualUnit(null, ConvBlock.convolving(channels, channels, 1, norm));
    }

    /** One convolution without norm and activation: at the end of a net, whose results may have any value. */
    static ResidualUnit ofBare(int channels) {
        return new ResidualUnit(null, ConvBlock.bare(channels, channels));
    }

    @Override
    Tensor forward(Tensor x) {
        return chain.forward(x).add(residual == null ? x : residual.forward(x));
    }
}
