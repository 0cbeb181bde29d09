package io.hvd.examples.data;

/** One image, row by row, one colour channel after the other, and its class. The array belongs to the receiver. */
public record ImageSample(float[] pixels, int label) {}
