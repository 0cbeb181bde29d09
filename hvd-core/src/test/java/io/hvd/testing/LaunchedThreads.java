package io.hvd.testing;

import java.util.Optional;

/**
 * How many ranks a test makes where several processes run it together, each with some of them as its threads.
 *
 * @param processes of the job
 * @param threads of each
 */
public record LaunchedThreads(int processes, int threads) {
    private static final String PROCESSES = "hvd.testing.processes";
    private static final String THREADS = "hvd.testing.threads";

    /** Before the tests of this process begin. */
    static void announce(int processes, int threads) {
        System.setProperty(PROCESSES, String.valueOf(processes));
        System.setProperty(THREADS, String.valueOf(threads));
    }

    /** Empty in a process that runs its tests alone, or is one rank. */
    public static Optional<LaunchedThreads> here() {
        return Optional.ofNullable(Integer.getInteger(PROCESSES))
                .map(processes -> new LaunchedThreads(processes, Integer.getInteger(THREADS)));
    }
}
