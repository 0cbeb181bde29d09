package io.hvd.backend.shm;

import io.hvd.error.ShutdownException;
import java.util.List;

/**
 * The ranks that share a segment, each at its place in it.
 *
 * @param ranks their numbers in the job
 * @param host of all of them
 */
record HostGroup(List<Integer> ranks, String host, Lives lives) {

    /** Knows whose process has come to its end, in whatever way. */
    interface Lives extends AutoCloseable {
        /** Once true, it stays so. What that rank has written before can be seen then. */
        boolean hasEnded(int place);

        /** This rank needs nobody any longer, and the others do not need it. */
        @Override
        void close();
    }

    /** What those find who wait for a rank that has died. */
    ShutdownException without(int place) {
        return new ShutdownException("rank " + ranks.get(place)
                + " is gone: the kernel has taken back its lock on the memory that ranks " + ranks
                + " share, so its process has ended (host " + host + ")");
    }
}
