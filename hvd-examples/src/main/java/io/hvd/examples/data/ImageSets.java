package io.hvd.examples.data;

import io.hvd.data.Dataset;

/** Grey images of one size, in a part to train on and a part to test on. */
public record ImageSets(Dataset<ImageSample> train, Dataset<ImageSample> test, int rows, int columns) {}
