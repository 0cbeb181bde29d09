package io.hvd.examples.volume;

/** The norms of a {@link UNet3d}. */
public enum VolumeNorm {
    /** Over the voxels of each sample and channel, without parameters. */
    INSTANCE,
    /** Over the voxels of a channel in the whole batch of a rank, with a factor and a shift for each channel. */
    BATCH
}
