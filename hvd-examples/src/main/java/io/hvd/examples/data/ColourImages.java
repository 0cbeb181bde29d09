package io.hvd.examples.data;

import io.hvd.data.Dataset;
import java.util.List;

/** Colour images of one size, normalised when they are read. */
interface ColourImages extends Dataset<ImageSample> {
    int rows();

    int columns();

    /** The names of the classes 0, 1, 2 ...; their number is that of the classes. */
    List<String> classes();
}
