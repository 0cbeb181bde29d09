package io.hvd.benchmarks.rank;

import java.util.Map;

/** The rank of this process and the number of ranks, from the launcher's variables, without hvd. */
record PlaceInJob(int rank, int size) {
    static PlaceInJob ofThisProcess() {
        return of(System.getenv());
    }

    static PlaceInJob of(Map<String, String> environment) {
        return new PlaceInJob(
                number(environment, 0, "OMPI_COMM_WORLD_RANK", "HOROVOD_RANK"),
                number(environment, 1, "OMPI_COMM_WORLD_SIZE", "HOROVOD_SIZE"));
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

    private static int number(Map<String, String> environment, int otherwise, String ofMpirun, String ofHorovodrun) {
        String value = environment.getOrDefault(ofMpirun, environment.get(ofHorovodrun));
        return value == null ? otherwise : Integer.parseInt(value);
    }
}
