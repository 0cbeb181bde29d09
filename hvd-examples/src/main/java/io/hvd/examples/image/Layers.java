package io.hvd.examples.image;

import org.bytedeco.javacpp.LongPointer;
import org.bytedeco.pytorch.BatchNorm2dImpl;
import org.bytedeco.pytorch.BatchNormOptions;
import org.bytedeco.pytorch.Conv2dImpl;
import org.bytedeco.pytorch.Conv2dOptions;
import org.bytedeco.pytorch.FanModeType;
import org.bytedeco.pytorch.Nonlinearity;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.kFanOut;
import org.bytedeco.pytorch.kReLU;

/** The layers that residual nets are made of. */
final class Layers {
    private Layers() {}

    /**
     * A square convolution without bias, with the given stride. Its weights are initialised for the ReLU that follows
     * (K. He et al., "Delving Deep into Rectifiers", ICCV 2015).
     */
    static Conv2dImpl convolution(int in, int out, int side, int stride) {
        Conv2dOptions options = new Conv2dOptions(in, out, new LongPointer(side, side));
        options.stride().put(0, stride).put(1, stride);
        options.padding().put(new LongPointer(side / 2, side / 2));
        options.bias().put(false);
        Conv2dImpl convolution = new Conv2dImpl(options);
        torch.kaiming_normal_(convolution.weight(), 0, new FanModeType(new kFanOut()), new Nonlinearity(new kReLU()));
        return convolution;
    }

    static BatchNorm2dImpl batchNorm(int channels) {
        return new BatchNorm2dImpl(new BatchNormOptions(channels));
    }
}
