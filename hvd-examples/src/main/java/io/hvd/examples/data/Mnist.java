package io.hvd.examples.data;

import io.hvd.data.Dataset;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;

/**
 * MNIST from its four IDX files, each compressed ({@code .gz}) or not: {@code train-images-idx3-ubyte}, {@code
 * train-labels-idx1-ubyte}, {@code t10k-images-idx3-ubyte}, {@code t10k-labels-idx1-ubyte}. Pixels are normalised with
 * mean 0.1307 and standard deviation 0.3081.
 *
 * <p>Y. LeCun, L. Bottou, Y. Bengio, P. Haffner, "Gradient-Based Learning Applied to Document Recognition", Proceedings
 * of the IEEE 86(11), 1998.
 */
public final class Mnist {

    private static final String TRAIN = "train";
    private static final String TEST = "t10k";
    private static final long SPLIT_SEED = 28;

    private Mnist() {}

    /**
     * Opens all four files.
     *
     * @throws NoSuchFileException if a file is missing; the message names it
     * @throws IOException if a file is not valid; the message names the file, what was found and what was expected
     */
    public static ImageSets open(Path directory) throws IOException {
        return sets(read(directory, TRAIN), read(directory, TEST));
    }

    /**
     * Opens all four files. If there are no training files, it splits the test files at random, in the same way each
     * time.
     *
     * @param trainFraction the share of the test files to train on, between 0 and 1; not used if there are training
     *     files
     * @throws NoSuchFileException if a file is missing; the message names it
     * @throws IOException if a file is not valid; the message names the file, what was found and what was expected
     */
    public static ImageSets open(Path directory, double trainFraction) throws IOException {
        if (!(trainFraction > 0 && trainFraction < 1)) {
            throw new IllegalArgumentException("train fraction must be between 0 and 1, found " + trainFraction);
        }
        return hasTrainingFiles(directory) ? open(directory) : split(read(directory, TEST), trainFraction);
    }

    private static ImageSets sets(MnistImages train, MnistImages test) throws IOException {
        if (train.rows() != test.rows() || train.columns() != test.columns()) {
            throw new IOException("the training images have " + train.rows() + "x" + train.columns()
                    + " pixels, the test images " + test.rows() + "x" + test.columns());
        }
        return ImageSets.ofDigits(train, test, train.rows(), train.columns(), DataOrigin.FILES);
    }

    private static ImageSets split(MnistImages whole, double trainFraction) {
        Dataset.Split<ImageSample> split = whole.split(trainFraction, SPLIT_SEED);
        return ImageSets.ofDigits(split.first(), split.second(), whole.rows(), whole.columns(), DataOrigin.FILES);
    }

    private static MnistImages read(Path directory, String part) throws IOException {
        return MnistImages.read(existing(directory, images(part)), existing(directory, labels(part)));
    }

    /** Whether there is at least one training file; if the other one is missing, an error names it. */
    private static boolean hasTrainingFiles(Path directory) {
        return exists(directory, images(TRAIN)) || exists(directory, labels(TRAIN));
    }

    private static String images(String part) {
        return part + "-images-idx3-ubyte";
    }

    private static String labels(String part) {
        return part + "-labels-idx1-ubyte";
    }

    private static boolean exists(Path directory, String name) {
        return Files.exists(directory.resolve(name)) || Files.exists(zipped(directory, name));
    }

    private static Path existing(Path directory, String name) throws NoSuchFileException {
        if (!exists(directory, name)) {
            throw new NoSuchFileException(directory.resolve(name).toString(), null, "nor is there " + name + ".gz");
        }
        Path plain = directory.resolve(name);
        return Files.exists(plain) ? plain : zipped(directory, name);
    }

    private static Path zipped(Path directory, String name) {
        return directory.resolve(name + ".gz");
    }
}
