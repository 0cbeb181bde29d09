package io.hvd.spark;

import io.hvd.data.DistributedSampler;
import io.hvd.data.Sampler;

/** Deals a rank all of its rows, each once per epoch, and none to another rank. An epoch's order follows from the seed and the epoch. */
public final class PartitionSampler implements Sampler {
    private final DistributedSampler alone;

    PartitionSampler(int rows, boolean shuffle, long seed) {
        alone = DistributedSampler.builder(rows, 1, 0)
                .shuffle(shuffle)
                .seed(seed)
                .build();
    }

    /** Makes the next iteration that of this epoch, such as after a checkpoint. */
    public void setEpoch(int epoch) {
        alone.setEpoch(epoch);
    }

    /** The epoch under way; before the first iteration, and after {@link #setEpoch}, the one that comes next. */
    public int epoch() {
        return alone.epoch();
    }

    @Override
    public int datasetSize() {
        return alone.datasetSize();
    }

    @Override
    public int length() {
        return alone.length();
    }

    @Override
    public int[] indices() {
        return alone.indices();
    }

    @Override
    public int[] beginEpoch() {
        return alone.beginEpoch();
    }
}
