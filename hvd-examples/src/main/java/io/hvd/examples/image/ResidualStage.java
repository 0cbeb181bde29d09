package io.hvd.examples.image;

import java.util.ArrayList;
import java.util.List;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Tensor;

/** Residual blocks one after the other, the first of which may change the shape. */
final class ResidualStage extends Module {
    private final List<ResidualBlock> blocks = new ArrayList<>();

    ResidualStage(ResidualBlock.Kind kind, int count, int in, int channels, int stride) {
        for (int i = 0; i < count; i++) {
            ResidualBlock block = i == 0
                    ? new ResidualBlock(kind, in, channels, stride)
                    : new ResidualBlock(kind, kind.out(channels), channels, 1);
            blocks.add(register_module(String.valueOf(i), block));
        }
    }

    Tensor forward(Tensor input) {
        Tensor x = input;
        for (ResidualBlock block : blocks) {
            x = block.forward(x);
        }
        return x;
    }
}
