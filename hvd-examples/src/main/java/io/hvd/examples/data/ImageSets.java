package io.hvd.examples.data;

import io.hvd.data.Dataset;

/**
 * Images of one size, in a part to train on and a part to test on.
 *
 * @param channels 1 for grey, 3 for red, green, blue
 * @param classes number of classes; labels are smaller than it
 */
public record ImageSets(
        Dataset<ImageSample> train,
        Dataset<ImageSample> test,
        int channels,
        int rows,
        int columns,
        int classes,
        DataOrigin origin) {

    /** Sets of grey images of ten classes. */
    static ImageSets ofDigits(
            Dataset<ImageSample> train, Dataset<ImageSample> test, int rows, int columns, DataOrigin origin) {
        return new ImageSets(train, test, 1, rows, columns, 10, origin);
    }

    /** Sets with at most so many images in each part, chosen at random in the same way each time. */
    public ImageSets atMost(int trainImages, int testImages, long seed) {
        return with(some(train, trainImages, seed), some(test, testImages, seed));
    }

    /** Sets of the same kind with other samples. */
    private ImageSets with(Dataset<ImageSample> trainSamples, Dataset<ImageSample> testSamples) {
        return new ImageSets(trainSamples, testSamples, channels, rows, columns, classes, origin);
    }

    /** Sets like these with other samples to train on. */
    ImageSets withTrain(Dataset<ImageSample> samples) {
        return with(samples, test);
    }

    private static Dataset<ImageSample> some(Dataset<ImageSample> all, int wanted, long seed) {
        return wanted >= all.size()
                ? all
                : all.split((double) wanted / all.size(), seed).first();
    }
}
