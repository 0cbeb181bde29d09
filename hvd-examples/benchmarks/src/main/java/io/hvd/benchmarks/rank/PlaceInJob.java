package io.hvd.benchmarks.rank;

/** The rank of this process and the number of ranks, from the launcher's variables, without hvd. */
record PlaceInJob(int rank, int size) {
    static PlaceInJob ofThisProcess() {
        return new PlaceInJob(number("OMPI_COMM_WORLD_RANK", 0), number("OMPI_COMM_WORLD_SIZE", 1));
    }

    /** The length of one rank's piece of so many elements. All pieces have the same length, so it may be rounded up. */
    int piece(int elements) {
        return (elements + size - 1) / size;
    }

    /** The pieces of all ranks together. */
    int whole(int elements) {
        return piece(elements) * size;
    }

    /** Waits, so that only the JIT works. */
    static void pause(long millis) {
        try {
            Thread.sleep(millis);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted before anything was timed", e);
        }
    }

    private static int number(String variable, int otherwise) {
        String value = System.getenv(variable);
        return value == null ? otherwise : Integer.parseInt(value);
    }
}
