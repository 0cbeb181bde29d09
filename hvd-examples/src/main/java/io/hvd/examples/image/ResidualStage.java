package io.hvd.examples.image;

import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Tensor;

/** Two residual blocks, the first of which may change the shape. */
final class ResidualStage extends Module {
    private final ResidualBlock first;
    private final ResidualBlock second;

    ResidualStage(int in, int out, int stride) {
        first = register_module("0", new ResidualBlock(in, out, stride));
        second = register_module("1", new ResidualBlock(out, out, 1));
    }

    Tensor forward(Tensor input) {
        return second.forward(first.forward(input));
    }
}
