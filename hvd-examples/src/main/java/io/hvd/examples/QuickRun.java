package io.hvd.examples;

import java.util.List;

/**
 * A run of an example that ends well within a minute on two cores, as {@code mpirun-scripts/bench-examples.sh} measures it.
 *
 * @param flags after the example's name
 * @param leastRanks number of ranks that it needs
 * @param exitCode the one with which it ends if all is well
 * @param needsGpu whether each rank needs a GPU
 * @param leftOut why it is not measured; empty if it is
 */
public record QuickRun(List<String> flags, int leastRanks, int exitCode, boolean needsGpu, String leftOut) {
    public QuickRun {
        flags = List.copyOf(flags);
    }

    /** A run on any number of ranks. @param flags with a space between them; may be empty */
    public static QuickRun of(String flags) {
        return new QuickRun(flags.isEmpty() ? List.of() : List.of(flags.split(" ")), 1, 0, false, "");
    }

    /** No run. @param reason words that can follow the example's name and a colon */
    public static QuickRun leftOut(String reason) {
        return new QuickRun(List.of(), 1, 0, false, reason);
    }

    /** Says how many ranks this run needs. */
    public QuickRun onAtLeast(int ranks) {
        return new QuickRun(flags, ranks, exitCode, needsGpu, leftOut);
    }

    /** Says with which exit code this run ends on purpose. */
    public QuickRun endingWith(int code) {
        return new QuickRun(flags, leastRanks, code, needsGpu, leftOut);
    }

    /** Says that this run needs a GPU for each rank. */
    public QuickRun onGpus() {
        return new QuickRun(flags, leastRanks, exitCode, true, leftOut);
    }
}
