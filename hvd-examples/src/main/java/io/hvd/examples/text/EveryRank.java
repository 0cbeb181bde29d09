package io.hvd.examples.text;

import io.hvd.HvdContext;
import io.hvd.examples.training.RankMistakes;
import io.hvd.tensor.Tensor;
import java.util.Arrays;
import org.apache.commons.cli.ParseException;

/** Reads what every rank reads on its own host, so that a mistake of one rank ends all of them with the same words. */
public final class EveryRank {
    private EveryRank() {}

    /** Reads a file. */
    @FunctionalInterface
    public interface Reading<T> {
        /** @throws ParseException if the file cannot be used, in words that name it */
        T read() throws ParseException;
    }

    /**
     * Every rank calls it.
     *
     * @throws ParseException on every rank, if the reading has thrown it on one
     */
    public static <T> T reads(HvdContext hvd, Reading<T> reading) throws ParseException {
        T mine = null;
        String mistake = "";
        try {
            mine = reading.read();
        } catch (ParseException e) {
            mistake = e.getMessage();
        }
        RankMistakes.requireNone(hvd, mistake);
        return mine;
    }

    /**
     * Every rank calls it.
     *
     * @param what the ranks have read, in words
     * @throws ParseException on every rank, if the checksums differ
     */
    public static void requireSame(HvdContext hvd, String name, String what, long checksum) throws ParseException {
        long[] sums = (long[]) hvd.allgather(name, Tensor.of(checksum)).toArray();
        if (Arrays.stream(sums).distinct().count() > 1) {
            throw new ParseException("the ranks have read different " + what + ", crc32 by rank: "
                    + Arrays.stream(sums).mapToObj(Long::toHexString).toList());
        }
    }
}
