package io.hvd.benchmarks.rank;

/** The result of a call on each rank, if the input of every rank is that of {@link #brought}. */
enum Expected {
    /** Any result. */
    NOTHING,
    SUM,
    AVERAGE,
    /** The input of rank 0. */
    OF_THE_ROOT,
    /** The pieces of all ranks, one after the other. */
    GATHERED,
    /** The rank's own piece of the sum. */
    PIECE_OF_SUM,
    /** The rank's piece of every rank's input, one after the other. */
    EXCHANGED;

    /**
     * The input of a rank. It depends on the rank and on the element, and is so small that even fp16 adds up a hundred
     * ranks without rounding.
     */
    static float brought(int rank, int element) {
        return 1 + rank % 16 + element % 7;
    }

    /** The number of floats of the result. */
    int elements(int count, PlaceInJob job) {
        return switch (this) {
            case NOTHING -> 0;
            case SUM, AVERAGE, OF_THE_ROOT -> count;
            case GATHERED, EXCHANGED -> job.whole(count);
            case PIECE_OF_SUM -> job.piece(count);
        };
    }

    float at(int element, int count, PlaceInJob job) {
        int piece = job.piece(count);
        return switch (this) {
            case NOTHING -> Float.NaN;
            case SUM -> sum(element, job.size());
            case AVERAGE -> sum(element, job.size()) / job.size();
            case OF_THE_ROOT -> brought(0, element);
            case GATHERED -> brought(element / piece, element % piece);
            case PIECE_OF_SUM -> sum(job.rank() * piece + element, job.size());
            case EXCHANGED -> brought(element / piece, job.rank() * piece + element % piece);
        };
    }

    private static float sum(int element, int ranks) {
        float sum = 0;
        for (int rank = 0; rank < ranks; rank++) {
            sum += brought(rank, element);
        }
        return sum;
    }
}
