package io.hvd.examples.data;

import io.hvd.data.Dataset;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;

/**
 * CIFAR-10, or colour images laid out like it, from a folder that holds either its binary files ({@code
 * data_batch_1.bin} and so on, {@code test_batch.bin}) or a folder of JPEG or PNG files for every class below {@code train}
 * and {@code test}. Channels are normalised with mean (0.4915, 0.4823, 0.4468) and deviation (0.2470, 0.2435, 0.2616).
 *
 * <p>A. Krizhevsky, "Learning Multiple Layers of Features from Tiny Images", Technical Report, University of Toronto,
 * 2009.
 */
public final class Cifar {
    private static final String TRAIN_FILES = "data_batch_\\d+\\.bin";
    private static final String TRAIN = "train";
    private static final String TEST_FILES = "test_batch\\.bin";
    private static final long SPLIT_SEED = 10;

    private Cifar() {}

    /**
     * Opens the folder. Binary files are read at once, others when their samples are read.
     *
     * @param trainFraction the share of the images to train on if one of the two parts is missing; the other part is
     *     then split at random, in the same way each time. If it is empty, a missing part is an error
     * @throws NoSuchFileException if there are no images to train or to test on; the message says which files were
     *     looked for
     * @throws IOException if a file is not valid; the message names the file, what was found and what was expected
     */
    public static ImageSets open(Path folder, OptionalDouble trainFraction) throws IOException {
        if (!Files.isDirectory(folder)) {
            throw new NoSuchFileException(folder.toString(), null, "there is no such folder");
        }
        Optional<ColourImages> train = part(folder, TRAIN_FILES, TRAIN);
        Optional<ColourImages> test = part(folder, TEST_FILES, "test");
        if (train.isPresent() && test.isPresent()) {
            requireAlike(folder, train.get(), test.get());
            return sets(train.get(), train.get(), test.get());
        }
        Optional<ColourImages> whole = train.or(() -> test);
        if (whole.isEmpty() || trainFraction.isEmpty()) {
            throw missing(folder, train.isEmpty(), whole.isPresent());
        }
        Dataset.Split<ImageSample> split = whole.get().split(trainFraction.getAsDouble(), SPLIT_SEED);
        return sets(whole.get(), split.first(), split.second());
    }

    private static Optional<ColourImages> part(Path folder, String files, String subfolder) throws IOException {
        List<Path> batches = CifarBatches.files(folder, files);
        if (!batches.isEmpty()) {
            return Optional.of(CifarBatches.read(batches));
        }
        Optional<JpegFolder> images = JpegFolder.open(folder.resolve(subfolder));
        if (images.isPresent() && subfolder.equals(TRAIN)) {
            images.get().listed().requireImagesOfEveryClass(folder.resolve(subfolder));
        }
        return images.map(ColourImages.class::cast);
    }

    private static void requireAlike(Path folder, ColourImages train, ColourImages test) throws IOException {
        if (!train.classes().equals(test.classes())) {
            throw new IOException(folder + ": the training images have the classes " + train.classes()
                    + ", the test images " + test.classes());
        }
        if (train.rows() != test.rows() || train.columns() != test.columns()) {
            throw new IOException(
                    folder + ": the training images have " + size(train) + " pixels, the test images " + size(test));
        }
    }

    private static String size(ColourImages images) {
        return images.columns() + "x" + images.rows();
    }

    private static NoSuchFileException missing(Path folder, boolean train, boolean other) {
        return new NoSuchFileException(
                folder.toString(),
                null,
                "no " + (train ? "training" : "test") + " images: looked for "
                        + (train ? "data_batch_1.bin" : "test_batch.bin")
                        + " and for class folders of JPEG or PNG files in "
                        + (train ? "train" : "test") + "/"
                        + (other ? "; a train fraction splits the images that are there" : ""));
    }

    private static ImageSets sets(ColourImages shape, Dataset<ImageSample> train, Dataset<ImageSample> test) {
        int classes = shape.classes().size();
        return new ImageSets(
                train, test, ColourScale.CHANNELS, shape.rows(), shape.columns(), classes, DataOrigin.FILES);
    }
}
