package io.hvd;

import io.hvd.config.HvdConfig;
import io.hvd.error.FailureRecord;
import io.hvd.spi.Topology;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;

/** Says on stderr, and to the launcher if there is one, what went wrong on this rank. */
final class FailureNotice {
    private final HvdConfig config;
    private volatile String who = "this rank";
    private volatile int rank = -1;
    private volatile String host = "unknown";

    FailureNotice(HvdConfig config) {
        this.config = config;
    }

    void speakFor(Topology topology) {
        rank = topology.rank();
        host = topology.host();
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
        config.failureDirectory().ifPresent(folder -> leaveRecord(folder, why, thread, stack, consequence));
    }

    /** On another host the launcher's folder does not exist; then what was printed has to do. */
    private void leaveRecord(Path folder, String why, String thread, String stack, boolean consequence) {
        if (!Files.isDirectory(folder)) {
            return;
        }
        try {
            new FailureRecord(Instant.now(), rank, host, ProcessHandle.current().pid(), thread, why, stack, consequence)
                    .write(folder);
        } catch (IOException e) {
            System.err.println("hvd: the failure record could not be written to " + folder + ": " + e);
        }
    }
}
