package io.hvd.examples.data;

/** One grey image, row by row, and its class. The array is the receiver's own. */
public record ImageSample(float[] pixels, int label) {}
