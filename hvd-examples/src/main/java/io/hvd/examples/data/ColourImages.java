package io.hvd.examples.data;

import io.hvd.data.Dataset;
import java.util.List;

/** Colour images of one size, normalised when they are read. */
interface ColourImages extends Dataset<ImageSample> {
    int rows();

    int columns();

    /** What the labels 0, 1, 2 ... stand for, or just as many words. */
    List<String> classes();
}
