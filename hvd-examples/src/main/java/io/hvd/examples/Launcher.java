package io.hvd.examples;

import java.util.Map;
import java.util.OptionalInt;

/**
 * The facts that mpirun or srun has put into this process's environment, known before the job begins.
 *
 * @param rank the rank; empty if there is no launcher
 */
record Launcher(OptionalInt rank) {
    /** A time that is longer than the differences between the starts of the ranks' JVMs. */
    private static final long HEAD_START_MILLIS = 5_000;

    static Launcher of(Map<String, String> environment) {
        return new Launcher(first(environment, "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "HOROVOD_RANK"));
    }

    /** Whether this process prints a message for the whole job, if all ranks would print the same. */
    boolean speaks() {
        return rank.orElse(0) == 0;
    }

    /**
     * Waits for rank 0, which prints the same message as this rank and ends; the launcher then ends the other ranks. A
     * rank that still runs afterwards has a mistake of its own, and prints its message itself.
     */
    void letRankZeroSpeakFirst() {
        if (speaks()) {
            return;
        }
        try {
            Thread.sleep(HEAD_START_MILLIS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static OptionalInt first(Map<String, String> environment, String... names) {
        for (String name : names) {
            String value = environment.getOrDefault(name, "");
            if (value.matches("\\d{1,9}")) {
                return OptionalInt.of(Integer.parseInt(value));
            }
        }
        return OptionalInt.empty();
    }
}
