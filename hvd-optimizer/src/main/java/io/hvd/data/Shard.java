package io.hvd.data;

/** One rank's place in the deal of {@code datasetSize} samples: every {@code replicas}-th one, beginning at its rank. */
record Shard(int datasetSize, int replicas, int rank) {

    Shard {
        if (datasetSize < 0) {
            throw new IllegalArgumentException("the size of the data set must not be negative, found " + datasetSize);
        }
        if (replicas < 1) {
            throw new IllegalArgumentException("there must be at least 1 replica, found " + replicas);
        }
        if (rank < 0 || rank >= replicas) {
            throw new IllegalArgumentException("invalid rank " + rank + ": with " + replicas
                    + " replicas a rank is in the interval [0, " + (replicas - 1) + "]");
        }
    }

    /** Samples per rank when the short ranks are padded. */
    int roundedUp() {
        return (int) ((datasetSize - 1L + replicas) / replicas);
    }

    /** Samples per rank when the uneven tail is left out. */
    int roundedDown() {
        return datasetSize / replicas;
    }

    /** Samples of this rank when every sample is dealt exactly once. */
    int exact() {
        return roundedDown() + (rank < datasetSize % replicas ? 1 : 0);
    }

    /**
     * This rank's first {@code count} samples of an order. Past the end the deal goes on at the head, as often as it
     * takes: that is the padding.
     */
    int[] deal(int[] order, int count) {
        int[] mine = new int[count];
        for (int i = 0; i < count; i++) {
            long position = rank + (long) i * replicas;
            mine[i] = order[(int) (position % order.length)];
        }
        return mine;
    }
}
