package io.hvd.doctor.checks;

import java.util.Locale;

/** Bytes as people read them. */
public final class Sizes {

    static final long MIB = 1L << 20;
    static final long GIB = 1L << 30;

    private Sizes() {}

    public static String of(long bytes) {
        if (bytes >= GIB) {
            return String.format(Locale.ROOT, "%.1f GiB", (double) bytes / GIB);
        }
        return bytes >= MIB ? bytes / MIB + " MiB" : bytes / 1024 + " KiB";
    }
}
