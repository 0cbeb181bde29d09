package io.hvd.examples.data;

import io.hvd.HvdContext;
import io.hvd.tensor.Tensor;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Optional;

/** Images of any sizes to train on and to evaluate, from two folders or drawn. Ranks that are threads share it. */
public final class PhotoSets {
    private final Photos train;
    private final Photos validation;
    private final DataOrigin origin;

    private PhotoSets(Photos train, Photos validation, DataOrigin origin) {
        this.train = train;
        this.validation = validation;
        this.origin = origin;
    }

    /**
     * Lists the JPEG and PNG files of both folders, each of which has a folder for every class.
     *
     * @throws java.nio.file.NoSuchFileException if a folder is missing, or has no images
     * @throws IOException if the folders have different classes, or one to train on is without images
     */
    public static PhotoSets open(Path trainFolder, Path validationFolder) throws IOException {
        PhotoFolder train = PhotoFolder.open(trainFolder);
        train.listed().requireImagesOfEveryClass(trainFolder);
        PhotoFolder validation = PhotoFolder.open(validationFolder);
        if (!train.classNames().equals(validation.classNames())) {
            throw new IOException(trainFolder + " has the classes " + train.classNames() + ", " + validationFolder
                    + " has " + validation.classNames());
        }
        return new PhotoSets(train, validation, DataOrigin.FILES);
    }

    /** Draws images of up to {@code largest} rows and columns. */
    public static PhotoSets drawn(int trainImages, int validationImages, int classes, int largest, long seed) {
        return new PhotoSets(
                new DrawnPhotos(trainImages, classes, largest, seed),
                new DrawnPhotos(validationImages, classes, largest, seed + 1),
                DataOrigin.DRAWN);
    }

    public int classes() {
        return train.classes();
    }

    /**
     * Compares what the ranks have found; every rank calls it.
     *
     * @return the mistake in words, the same on every rank; empty if all have the same images
     */
    public Optional<String> difference(HvdContext hvd) {
        long[] mine = {train.checksum(), validation.checksum(), train.size(), validation.size(), classes()};
        long[] all = (long[]) hvd.allgather("photos", Tensor.of(mine)).toArray();
        for (int rank = 1; rank < hvd.size(); rank++) {
            int from = rank * mine.length;
            if (!Arrays.equals(all, 0, mine.length, all, from, from + mine.length)) {
                return Optional.of("the ranks have found different images: " + inWords(all, 0) + " on rank 0 ("
                        + hvd.hosts().get(0) + "), " + inWords(all, from) + " on rank " + rank + " ("
                        + hvd.hosts().get(rank) + ")");
            }
        }
        return Optional.empty();
    }

    private static String inWords(long[] all, int from) {
        return all[from + 2] + " to train on and " + all[from + 3] + " to evaluate in " + all[from + 4]
                + " classes, crc32 of the names "
                + Long.toHexString(all[from]) + " and " + Long.toHexString(all[from + 1]);
    }

    /**
     * Random parts of the images to train on. Each rank makes its own.
     *
     * @param side rows and columns of a sample
     * @param skipping whether another image takes the place of one that cannot be decoded
     */
    public RandomCrops randomCrops(int side, long seed, boolean skipping) {
        return new RandomCrops(train, side, seed, skipping);
    }

    /** The sets for a training with these samples, and the middles of the images to evaluate. */
    public ImageSets sets(RandomCrops samples, int side) {
        return new ImageSets(
                samples, new CentralCrops(validation, side), ColourScale.CHANNELS, side, side, classes(), origin);
    }
}
