package io.hvd.spi;

/** Opens control channels between rank 0 and the other ranks. */
public interface ControlPlane extends AutoCloseable {
    /**
     * Opens one more control channel, for messages that must not come between those of the others. All ranks call it
     * together. One thread, which may be any, calls the channel's {@link ControlChannel#receive} and {@link
     * ControlChannel#send}. The channel ends with the control plane.
     */
    ControlChannel open();

    /** Tells the other ranks, where they do not see it by themselves, that this one is gone. Any thread may call it. */
    void abandon(String why);

    /**
     * Ends all channels of this rank after a failure, without waiting for the other ranks, which see it where they are other
     * processes. On the thread that has used the engine's channel.
     */
    void discard();

    /** Waits until every rank has come here, so that none still has to read a message, and ends all channels. */
    @Override
    void close();
}
