package io.hvd.contract.explorer;

import java.util.Arrays;
import java.util.Map;

/**
 * The ranks of a job.
 *
 * @param hosts on which they are; 1 for this one
 * @param processes of the job; 0 if the ranks are threads of the test's own process
 * @param threads of each process that are ranks; 0 if the process itself is one
 * @param way how bytes go from process to process
 */
public record Composition(int hosts, int processes, int threads, Way way) {
    /** How bytes go from process to process. */
    public enum Way {
        /** In the memory of a host, and by MPI between hosts. */
        MEMORY("processes", Map.of()),
        MPI("mpi", Map.of("HVD_SHARED_MEMORY", "0")),
        TCP("tcp", Map.of("HVD_SHARED_MEMORY", "0", "HVD_BACKEND", "tcp")),
        /** In the memory of a host, and by TCP between hosts. */
        MEMORY_AND_TCP("both", Map.of("HVD_BACKEND", "tcp"));

        private final String word;
        private final Map<String, String> settings;

        Way(String word, Map<String, String> settings) {
            this.word = word;
            this.settings = settings;
        }
    }

    static Composition threads(int ranks) {
        return new Composition(1, 0, ranks, Way.MEMORY);
    }

    public static Composition processes(int ranks) {
        return processes(ranks, Way.MEMORY);
    }

    public static Composition processes(int ranks, Way way) {
        return new Composition(1, ranks, 0, way);
    }

    public static Composition threadsOfProcesses(int processes, int threads) {
        return new Composition(1, processes, threads, Way.MEMORY);
    }

    public Composition onHosts(int number) {
        return new Composition(number, processes, threads, way);
    }

    /** Whether no MPI connects the processes. */
    public boolean isWithoutMpi() {
        return way.settings.containsKey("HVD_BACKEND");
    }

    /** Reads the words of {@link #toString}. */
    static Composition of(String text) {
        String[] words = text.split("-");
        String[] numbers = words[1].split("x");
        int first = Integer.parseInt(numbers[0]);
        int second = numbers.length > 1 ? Integer.parseInt(numbers[1]) : 0;
        Composition one =
                switch (words[0]) {
                    case "threads" -> threads(first);
                    case "hybrid" -> threadsOfProcesses(first, second);
                    default ->
                        processes(
                                first,
                                Arrays.stream(Way.values())
                                        .filter(way -> way.word.equals(words[0]))
                                        .findFirst()
                                        .orElseThrow(() -> new IllegalArgumentException("composition " + text)));
                };
        return words.length > 2 ? one.onHosts(Integer.parseInt(words[2])) : one;
    }

    int ranks() {
        return Math.max(1, processes) * Math.max(1, threads);
    }

    /** Settings of its own. */
    Map<String, String> settings() {
        return way.settings;
    }

    @Override
    public String toString() {
        String kind = processes == 0
                ? "threads-" + threads
                : threads > 0 ? "hybrid-" + processes + "x" + threads : way.word + "-" + processes;
        return hosts == 1 ? kind : kind + "-" + hosts;
    }
}
