package io.hvd.spi;

import java.nio.ByteBuffer;

/**
 * The control plane: small messages between rank 0 and the others. Waiting takes no processor time, so that an idle
 * rank leaves its cores to the training.
 *
 * <p>Only the communication thread calls the methods, except {@link #wakeUp()}.
 */
public interface ControlChannel {
    /**
     * Sends a message and returns at once; messages from one rank to another arrive in the order in which they were
     * sent.
     *
     * @param message the bytes from its position to its limit, which must not be changed afterwards
     */
    void send(int rank, ByteBuffer message);

    /** False while something sent still waits for room on its way; {@link #receive} moves it on. */
    boolean isFlushed();

    /**
     * Hands over the messages that have arrived. Waits for a message, for {@link #wakeUp()} or until the time is over,
     * and may return earlier; returns at once if one of these has happened since the last call.
     *
     * @param nanos the longest wait in nanoseconds; {@link Long#MAX_VALUE} means no limit
     */
    void receive(long nanos, Inbox inbox);

    /** Ends a {@link #receive} that is waiting, or else the next one. Any thread may call it. */
    void wakeUp();

    /** Receives what arrives over the channel. */
    interface Inbox {
        void message(int fromRank, ByteBuffer message);

        /** The connection to a rank is lost; reported once. */
        void lost(int rank, String why);
    }
}
