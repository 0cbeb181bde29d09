package io.hvd.optimizer.djl;

import ai.djl.training.dataset.RandomAccessDataset;
import ai.djl.training.dataset.Sampler;
import io.hvd.HvdContext;
import io.hvd.data.DistributedSampler;
import io.hvd.data.EvalSampler;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.stream.IntStream;

/** Deals a DJL data set out to the ranks, in batches: {@code setSampling(RankSampler.training(hvd, 64))}. */
public final class RankSampler implements Sampler {
    private final HvdContext hvd;
    private final int batchSize;
    private final boolean training;
    private final long seed;
    /** Null before the first epoch. */
    private io.hvd.data.Sampler places;

    private int nextEpoch;

    private RankSampler(HvdContext hvd, int batchSize, boolean training, long seed) {
        this.hvd = hvd;
        this.batchSize = batchSize;
        this.training = training;
        this.seed = seed;
    }

    /** Shuffles anew in each epoch, and gives all ranks the same number of samples. The batches are those of one rank. */
    public static RankSampler training(HvdContext hvd, int batchSize) {
        return training(hvd, batchSize, 0);
    }

    /**
     * Does the same with orders of another seed.
     *
     * @param seed the same on all ranks
     */
    public static RankSampler training(HvdContext hvd, int batchSize, long seed) {
        return new RankSampler(hvd, batchSize, true, seed);
    }

    /** Over all ranks each sample comes exactly once; a rank may get one less than another, or none. */
    public static RankSampler evaluation(HvdContext hvd, int batchSize) {
        return new RankSampler(hvd, batchSize, false, 0);
    }

    /** Goes on with the order of an epoch, counted from 0, as a resumed training does; further epochs count by themselves. */
    public void setEpoch(int epoch) {
        nextEpoch = epoch;
        places = null;
    }

    @Override
    public Iterator<List<Long>> sample(RandomAccessDataset dataset) {
        if (places == null || places.datasetSize() != dataset.size()) {
            places = deal(Math.toIntExact(dataset.size()));
        }
        nextEpoch++;
        int[] order = places.beginEpoch();
        List<List<Long>> batches = new ArrayList<>();
        for (int from = 0; from < order.length; from += batchSize) {
            batches.add(IntStream.range(from, Math.min(order.length, from + batchSize))
                    .mapToObj(place -> (long) order[place])
                    .toList());
        }
        return batches.iterator();
    }

    private io.hvd.data.Sampler deal(int size) {
        if (!training) {
            return new EvalSampler(size, hvd.size(), hvd.rank());
        }
        DistributedSampler dealt = DistributedSampler.builder(size, hvd.size(), hvd.rank())
                .seed(seed)
                .build();
        dealt.setEpoch(nextEpoch);
        return dealt;
    }

    @Override
    public int getBatchSize() {
        return batchSize;
    }
}
