package io.hvd.examples.data;

import io.hvd.data.Dataset;
import io.hvd.data.SplitMix64;
import java.io.IOException;
import java.util.Collection;
import java.util.concurrent.ConcurrentSkipListMap;

/**
 * Random parts of images in one size, other ones in each epoch. A part depends on seed, epoch and index alone, so a resumed
 * training sees what an uninterrupted one would have seen. Each rank has one of its own.
 */
public final class RandomCrops implements Dataset<ImageSample> {
    private final Photos photos;
    private final int side;
    private final long seed;
    private final boolean skipping;
    /** The damage of the images that were skipped, by their indices. */
    private final ConcurrentSkipListMap<Integer, String> skipped = new ConcurrentSkipListMap<>();

    private volatile int epoch;

    /** @param skipping whether the next image takes the place of one that cannot be decoded, which is an error otherwise */
    RandomCrops(Photos photos, int side, long seed, boolean skipping) {
        this.photos = photos;
        this.side = side;
        this.seed = seed;
        this.skipping = skipping;
    }

    /** Called between two epochs, before the loader begins the next one. */
    public void setEpoch(int next) {
        epoch = next;
    }

    /** The damage of the images that were skipped, each of which is named. */
    public Collection<String> skipped() {
        return skipped.values();
    }

    @Override
    public int size() {
        return photos.size();
    }

    @Override
    public ImageSample get(int index) throws IOException {
        for (int tried = 0; ; tried++) {
            int place = (index + tried) % size();
            try {
                JpegImage image = photos.read(place);
                Crop crop = Crop.random(image.columns(), image.rows(), randomOf(index));
                return new ImageSample(crop.resized(image, side), photos.label(place));
            } catch (IOException e) {
                if (!skipping || tried + 1 == size()) {
                    throw e;
                }
                skipped.put(place, e.getMessage());
            }
        }
    }

    private SplitMix64 randomOf(int index) {
        long ofEpoch = new SplitMix64(seed + epoch).nextLong();
        return new SplitMix64(ofEpoch + index);
    }
}
