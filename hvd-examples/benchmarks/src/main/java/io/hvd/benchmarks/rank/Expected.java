package io.hvd.benchmarks.rank;

/** What a call leaves behind on each rank, if all ranks have brought what {@link #brought} says. */
enum Expected {
    /** Anything. */
    NOTHING,
    SUM,
    AVERAGE,
    /** What rank 0 has brought. */
    OF_THE_ROOT,
    /** The pieces of all ranks, one behind the other. */
    GATHERED,
    /** The rank's own piece of the sum. */
    PIECE_OF_SUM;

    /** Differs by rank and by place, and is so small that fp16 too adds up a hundred ranks without rounding. */
    static float brought(int rank, int element) {
        return 1 + rank % 16 + element % 7;
    }

    /** How many floats it is. */
    int elements(int count, Job job) {
        return switch (this) {
            case NOTHING -> 0;
            case SUM, AVERAGE, OF_THE_ROOT -> count;
            case GATHERED -> job.whole(count);
            case PIECE_OF_SUM -> job.piece(count);
        };
    }

    float at(int element, int count, Job job) {
        int piece = job.piece(count);
        return switch (this) {
            case NOTHING -> Float.NaN;
            case SUM -> sum(element, job.size());
            case AVERAGE -> sum(element, job.size()) / job.size();
            case OF_THE_ROOT -> brought(0, element);
            case GATHERED -> brought(element / piece, element % piece);
            case PIECE_OF_SUM -> sum(job.rank() * piece + element, job.size());
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
