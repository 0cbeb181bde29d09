package io.hvd.examples.data;

import java.io.IOException;

/** Colour images of any sizes, each of a class. Several threads may read at once. */
interface Photos {
    int size();

    int classes();

    int label(int index);

    /** A checksum by which ranks compare what they have found. */
    long checksum();

    /** Reads or draws an image. @throws IOException that names the file, if it cannot be decoded */
    JpegImage read(int index) throws IOException;
}
