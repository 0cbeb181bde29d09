package io.hvd.examples.volume;

import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Tensor;

/** A part of a {@link UNet3d}. */
abstract class VolumeLayer extends Module {
    /** @param x (samples, channels, depth, height, width) */
    abstract Tensor forward(Tensor x);
}
