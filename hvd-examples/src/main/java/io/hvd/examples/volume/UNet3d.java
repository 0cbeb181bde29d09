package io.hvd.examples.volume;

import java.util.List;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Tensor;

/**
 * A U-shaped net of residual units for volumes, as MONAI's {@code UNet} with two residual units and strides of 2, whose parameters have
 * the same names. Each level halves the sides on the way down, where a strided convolution brings the input beside it, and doubles them
 * on the way up. With one channel in and out, widths 16, 32, 64, 128 and 256 and instance norms it has 4,805,534 parameters.
 *
 * <p>E. Kerfoot et al., "Left-Ventricle Quantification Using Residual U-Net", STACOM 2018; the residual units are those of K. He et al.,
 * CVPR 2016.
 */
public final class UNet3d extends Module {
    private final VolumeLayer model;
    private final Shape shape;

    /**
     * The form of a net.
     *
     * @param in channels of the input
     * @param out channels of the result
     * @param widths channels of each level, at least 2 levels
     */
    public record Shape(int in, int out, List<Integer> widths, VolumeNorm norm) {
        public Shape {
            widths = List.copyOf(widths);
            if (widths.size() < 2) {
                throw new IllegalArgumentException("a UNet3d needs at least 2 levels, found widths " + widths);
            }
        }

        /** The number that divides each side of an input. */
        public int divisor() {
            return 1 << widths.size() - 1;
        }
    }

    public UNet3d(Shape shape) {
        this.shape = shape;
        this.model = register_module("model", level(0, shape.in(), shape.out()));
    }

    private VolumeLayer level(int depth, int in, int out) {
        List<Integer> widths = shape.widths();
        int width = widths.get(depth);
        boolean isLast = depth == widths.size() - 2;
        int lowerOut = isLast ? widths.get(depth + 1) : width;
        VolumeLayer lower =
                isLast ? ResidualUnit.ofTwo(width, lowerOut, 1, shape.norm()) : level(depth + 1, width, width);
        return new UNetLevel(in, width, out, lower, lowerOut, depth == 0, shape.norm());
    }

    /**
     * Computes logits.
     *
     * @param x (samples, channels, depth, height, width); sides are multiples of {@link Shape#divisor}
     * @return the same sizes, with the channels of the result
     */
    public Tensor forward(Tensor x) {
        return model.forward(x);
    }
}
