package io.hvd.examples.volume;

import static org.bytedeco.pytorch.global.torch.cat;

import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;

/** A level of a U: it halves the sides, hands on to what is below, puts both beside each other, and doubles the sides. */
final class UNetLevel extends VolumeLayer {
    private final ResidualUnit down;
    private final Skip below;
    private final Up up;

    /**
     * @param width channels of this level
     * @param lower what is below, and its number of channels
     * @param top whether the result is that of the whole net
     */
    UNetLevel(int in, int width, int out, VolumeLayer lower, int lowerOut, boolean top, VolumeNorm norm) {
        down = register_module("0", ResidualUnit.ofTwo(in, width, 2, norm));
        below = register_module("1", new Skip(lower));
        up = register_module("2", new Up(width + lowerOut, out, top, norm));
    }

    @Override
    Tensor forward(Tensor x) {
        return up.forward(below.forward(down.forward(x)));
    }

    /** Puts the input's channels before those of what a layer makes of it. */
    private static final class Skip extends Module {
        private final VolumeLayer submodule;

        Skip(VolumeLayer submodule) {
            this.submodule = register_module("submodule", submodule);
        }

        Tensor forward(Tensor x) {
            return cat(new TensorVector(x, submodule.forward(x)), 1);
        }
    }

    /** A transposed convolution with norm and activation, then a residual unit. */
    private static final class Up extends Module {
        private final ConvBlock doubling;
        private final ResidualUnit unit;

        Up(int in, int out, boolean top, VolumeNorm norm) {
            doubling = register_module("0", ConvBlock.doubling(in, out, norm));
            unit = register_module("1", top ? ResidualUnit.ofBare(out) : ResidualUnit.ofOne(out, norm));
        }

        Tensor forward(Tensor x) {
            return unit.forward(doubling.forward(x));
        }
    }
}
