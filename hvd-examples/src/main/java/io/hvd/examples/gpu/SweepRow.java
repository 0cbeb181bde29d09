package io.hvd.examples.gpu;

import java.util.Locale;

/**
 * A row of the table of check G7.
 *
 * @param bytes size of the largest buffer of a rank
 * @param micros time of a call, the mean over calls and ranks
 * @param wrong the number of elements with another value than expected, over all ranks
 */
record SweepRow(SweepCollective collective, int ranks, long bytes, double micros, long wrong) {
    static final String HEADER = "collective           size      time   algbw   busbw  #wrong\n"
            + "                      (B)      (us)  (GB/s)  (GB/s)";

    /** Algorithm bandwidth in GB/s: the size divided by the time. */
    double algBandwidth() {
        return bytes / micros / 1e3;
    }

    /** Bus bandwidth in GB/s, which can be compared with the speed of the links whatever the number of ranks. */
    double busBandwidth() {
        return algBandwidth() * collective.busFactor(ranks);
    }

    @Override
    public String toString() {
        return String.format(
                Locale.ROOT,
                "%-13s %11d %9.2f %7.2f %7.2f %7d",
                collective.word(),
                bytes,
                micros,
                algBandwidth(),
                busBandwidth(),
                wrong);
    }
}
