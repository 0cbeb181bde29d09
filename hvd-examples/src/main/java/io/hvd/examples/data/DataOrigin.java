package io.hvd.examples.data;

import java.util.Locale;

/** The origin of an example's samples. Its word is the value of {@code data=} in the result line. */
public enum DataOrigin {
    /** The program has drawn or written the samples, by random numbers from a seed. */
    DRAWN,
    /** Files that a flag names. */
    FILES,
    /** A file inside the jar. */
    SHIPPED;

    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT);
    }
}
