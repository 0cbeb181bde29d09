package io.hvd.examples.data;

import java.io.IOException;
import java.nio.file.Path;

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
     * @throws IOException if the folders have different classes
     */
    public static PhotoSets open(Path trainFolder, Path validationFolder) throws IOException {
        PhotoFolder train = PhotoFolder.open(trainFolder);
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

    public int trainImages() {
        return train.size();
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
