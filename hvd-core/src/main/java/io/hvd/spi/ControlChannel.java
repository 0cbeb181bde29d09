package io.hvd.spi;

import java.nio.ByteBuffer;

/**
 * The control plane: small messages between rank 0 and the others. Waiting costs no processor time,
 * so that an idle rank leaves its cores to the training.
 *
 * <p>Everything but {@link #wakeUp()} is called on the communication thread only.
 */
public interface ControlChannel {
    /**
     * Sends a message and returns at once; messages from one rank to another arrive in their order.
     *
     * @param message from its position to its limit; not to be changed afterwards
     */
    void send(int rank, ByteBuffer message);

    /** False while something sent still waits for room on its way; {@link #receive} moves it on. */
    default boolean isFlushed() {
        return true;
    }

    /**
     * Hands over what has arrived. Waits for a message, for {@link #wakeUp()} or until the time is
     * over, and may return earlier; returns at once when one of them has happened since the last call.
     *
     * @param nanos longest wait; {@link Long#MAX_VALUE} means no limit
     */
    void receive(long nanos, Inbox inbox);

    /** Ends a {@link #receive} that is waiting, or else the next one. Callable by any thread. */
    void wakeUp();

    /** Takes what the channel brings. */
    interface Inbox {
        void message(int fromRank, ByteBuffer message);

        /** A rank's end of the channel is gone; reported once. */
        void lost(int rank, String why);
    }
}
