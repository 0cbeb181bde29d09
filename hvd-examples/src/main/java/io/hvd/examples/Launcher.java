package io.hvd.examples;

import java.util.Map;
import java.util.OptionalInt;

/**
 * What mpirun or srun has told this process in its environment, known before the job begins.
 *
 * @param rank empty where there is no launcher
 */
record Launcher(OptionalInt rank) {
    /** Longer than the ranks' JVMs differ in their start; the launcher ends the others once rank 0 has ended. */
    private static final long HEAD_START_MILLIS = 5_000;

    static Launcher of(Map<String, String> environment) {
        return new Launcher(first(environment, "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"));
    }

    /** Whether this process speaks for the job where all of its ranks would say the same. */
    boolean speaks() {
        return rank.orElse(0) == 0;
    }

    /**
     * Lets rank 0 say first what this rank would say too, and be the one that ends the job. A rank that is still there
     * afterwards was mistaken alone, and speaks for itself.
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
