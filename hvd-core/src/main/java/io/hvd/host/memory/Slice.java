package io.hvd.host.memory;

import io.hvd.tensor.DType;
import java.nio.ByteBuffer;

/** A range of elements. */
record Slice(int first, int count) {
    static final Slice NONE = new Slice(0, 0);

    int end() {
        return first + count;
    }

    /** These elements of a buffer. */
    ByteBuffer of(ByteBuffer buffer, DType type) {
        return buffer.slice(first * type.bytes(), count * type.bytes()).order(buffer.order());
    }

    /**
     * A rank's slice when elements are divided evenly; few bytes are not divided, and belong to the first rank.
     *
     * @param fewBytes the most bytes that are not divided
     */
    static Slice ofRank(int rank, int ranks, int count, DType type, int fewBytes) {
        if (count * type.bytes() <= fewBytes) {
            return rank == 0 ? new Slice(0, count) : NONE;
        }
        int first = (int) ((long) count * rank / ranks);
        int end = (int) ((long) count * (rank + 1) / ranks);
        return new Slice(first, end - first);
    }
}
