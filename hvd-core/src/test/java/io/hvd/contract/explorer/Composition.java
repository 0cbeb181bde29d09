package io.hvd.contract.explorer;

import java.util.Map;
import java.util.TreeMap;

/**
 * The ranks of a job.
 *
 * @param hosts on which they are; 1 for this one
 * @param processes of the job; 0 if the ranks are threads of the test's own process
 * @param threads of each process that are ranks; 0 if the process itself is one
 * @param sharesMemory whether the processes of a host share memory, or everything goes through MPI
 */
public record Composition(int hosts, int processes, int threads, boolean sharesMemory) {
    static Composition threads(int ranks) {
        return new Composition(1, 0, ranks, true);
    }

    public static Composition processes(int ranks) {
        return new Composition(1, ranks, 0, true);
    }

    public static Composition throughMpi(int ranks) {
        return new Composition(1, ranks, 0, false);
    }

    public static Composition threadsOfProcesses(int processes, int threads) {
        return new Composition(1, processes, threads, true);
    }

    public Composition onHosts(int number) {
        return new Composition(number, processes, threads, sharesMemory);
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
                    case "processes" -> processes(first);
                    case "mpi" -> throughMpi(first);
                    case "hybrid" -> threadsOfProcesses(first, second);
                    default -> throw new IllegalArgumentException("composition " + text);
                };
        return words.length > 2 ? one.onHosts(Integer.parseInt(words[2])) : one;
    }

    int ranks() {
        return Math.max(1, processes) * Math.max(1, threads);
    }

    /** Settings of its own. */
    Map<String, String> settings() {
        Map<String, String> settings = new TreeMap<>();
        if (!sharesMemory) {
            settings.put("HVD_SHARED_MEMORY", "0");
        }
        return settings;
    }

    @Override
    public String toString() {
        String kind = processes == 0
                ? "threads-" + threads
                : threads > 0
                        ? "hybrid-" + processes + "x" + threads
                        : (sharesMemory ? "processes-" : "mpi-") + processes;
        return hosts == 1 ? kind : kind + "-" + hosts;
    }
}
