package io.hvd.benchmarks.rank;

/** This process's place among those that a launcher has started, without hvd. */
record Job(int rank, int size) {
    static Job ofThisProcess() {
        return new Job(number("OMPI_COMM_WORLD_RANK", 0), number("OMPI_COMM_WORLD_SIZE", 1));
    }

    private static int number(String variable, int otherwise) {
        String value = System.getenv(variable);
        return value == null ? otherwise : Integer.parseInt(value);
    }
}
