package io.hvd.host.memory;

import io.hvd.error.ShutdownException;

/** The ranks that share one memory, by their places in it; it knows which of them have ended. */
public interface MemoryGroup extends AutoCloseable {
    /**
     * Whether the rank at a place has ended, for whatever reason. Once true, it stays true, and what that rank wrote
     * before is visible.
     */
    boolean hasEnded(int place);

    /** The exception for ranks that wait for a rank that has ended. */
    ShutdownException without(int place);

    /** This rank needs the others no longer, and they do not need it. */
    @Override
    void close();
}
