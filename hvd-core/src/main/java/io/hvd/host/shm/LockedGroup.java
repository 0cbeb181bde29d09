package io.hvd.host.shm;

import io.hvd.error.ShutdownException;
import io.hvd.host.memory.MemoryGroup;
import io.hvd.spi.Abandonment;
import java.util.List;

/**
 * The processes of a host that share a segment.
 *
 * @param ranks their numbers in the job, by place
 * @param host the host of all of them
 * @param locks tell which of them have ended
 * @param abandonment whether this rank waits for none of them any longer
 */
record LockedGroup(List<Integer> ranks, String host, LifeLocks locks, Abandonment abandonment) implements MemoryGroup {
    @Override
    public boolean hasEnded(int place) {
        return abandonment.isAbandoned() || locks.hasEnded(place);
    }

    @Override
    public ShutdownException without(int place) {
        if (abandonment.isAbandoned()) {
            return abandonment.exception();
        }
        return new ShutdownException("rank " + ranks.get(place)
                + " is gone: the kernel has taken back its lock on the memory that ranks " + ranks
                + " share, so its process has ended (host " + host + ")");
    }

    @Override
    public void close() {
        locks.close();
    }
}
