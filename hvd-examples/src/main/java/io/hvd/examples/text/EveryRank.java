package io.hvd.examples.text;

import io.hvd.HvdContext;
import io.hvd.ObjectCodec;
import io.hvd.tensor.Tensor;
import java.util.Arrays;
import java.util.List;
import org.apache.commons.cli.ParseException;

/** Reads what every rank reads on its own host, so that a mistake of one rank ends all of them with the same words. */
final class EveryRank {
    private EveryRank() {}

    /** Reads a file. */
    @FunctionalInterface
    interface Reading<T> {
        /** @throws ParseException if the file cannot be used, in words that name it */
        T read() throws ParseException;
    }

    /**
     * Every rank calls it.
     *
     * @param name of the exchange
     * @throws ParseException on every rank, if the reading has thrown it on one
     */
    static <T> T reads(HvdContext hvd, String name, Reading<T> reading) throws ParseException {
        T mine = null;
        String mistake = "";
        try {
            mine = reading.read();
        } catch (ParseException e) {
            mistake = e.getMessage();
        }
        List<String> mistakes = hvd.allgatherObject(name, mistake, ObjectCodec.utf8());
        for (int rank = 0; rank < mistakes.size(); rank++) {
            if (!mistakes.get(rank).isEmpty()) {
                throw new ParseException(mistakes.get(rank) + ", on rank " + rank + " ("
                        + hvd.hosts().get(rank) + ")" + others(mistakes, rank));
            }
        }
        return mine;
    }

    private static String others(List<String> mistakes, int rank) {
        long more = mistakes.stream()
                .skip(rank + 1L)
                .filter(mistake -> !mistake.isEmpty())
                .count();
        return more == 0 ? "" : " and on " + more + " more of " + mistakes.size() + " ranks";
    }

    /**
     * Every rank calls it.
     *
     * @param what the ranks have read, in words
     * @throws ParseException on every rank, if the checksums differ
     */
    static void requireSame(HvdContext hvd, String name, String what, long checksum) throws ParseException {
        long[] sums = (long[]) hvd.allgather(name, Tensor.of(checksum)).toArray();
        if (Arrays.stream(sums).distinct().count() > 1) {
            throw new ParseException("the ranks have read different " + what + ", crc32 by rank: "
                    + Arrays.stream(sums).mapToObj(Long::toHexString).toList());
        }
    }
}
