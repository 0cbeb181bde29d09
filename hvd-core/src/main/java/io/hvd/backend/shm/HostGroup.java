package io.hvd.backend.shm;

import io.hvd.error.ShutdownException;
import java.util.List;

/**
 * The ranks that share a segment, each at its place in it.
 *
 * @param ranks their numbers in the job
 * @param host the host of all of them
 */
record HostGroup(List<Integer> ranks, String host, Lives lives) {

    /** Tells which processes have ended, for whatever reason. */
    interface Lives extends AutoCloseable {
        /**
         * Whether the rank at a place has ended; once true, it stays true. What that rank wrote before is visible then.
         */
        boolean hasEnded(int place);

        /** This rank needs the others no longer, and they do not need it. */
        @Override
        void close();
    }

    /** The exception for ranks that wait for a rank that has died. */
    ShutdownException without(int place) {
        return new ShutdownException("rank " + ranks.get(place)
                + " is gone: the kernel has taken back its lock on the memory that ranks " + ranks
                + " share, so its process has ended (host " + host + ")");
    }
}
