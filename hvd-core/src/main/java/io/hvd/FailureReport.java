package io.hvd;

import io.hvd.config.HvdConfig;
import io.hvd.spi.Topology;

/** Says on stderr, and to the launcher if there is one, what went wrong on this rank. */
final class FailureReport {
    private final HvdConfig config;
    private volatile String who = "this rank";
    private volatile int rank;

    FailureReport(HvdConfig config) {
        this.config = config;
    }

    void speakFor(Topology topology) {
        rank = topology.rank();
        who = "rank " + topology.rank() + " of " + topology.size() + " on " + topology.host();
    }

    /** The failure in one sentence, with its place. */
    String sentence(String why) {
        return who + ": " + why;
    }

    /**
     * @param consequence true if another rank failed first; its cause is worth a stack, this one is not
     */
    void failure(String why, String thread, String stack, boolean consequence) {
        String head = "hvd: " + (consequence ? "consequence on " : "FAILED: ") + sentence(why);
        System.err.println(consequence || stack.isEmpty() ? head : head + System.lineSeparator() + stack);
        System.err.flush();
    }
}
