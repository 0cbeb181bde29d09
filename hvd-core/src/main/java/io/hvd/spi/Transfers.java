package io.hvd.spi;

import java.nio.ByteBuffer;

/**
 * Transfers of bytes from one rank to another beside other work, any number at the same time. The communication thread
 * starts them and moves them on. Between two ranks, transfers with the same tag arrive in the order in which they were
 * started.
 */
public interface Transfers {
    /** The number of tags: a tag is smaller than this, which every MPI allows. */
    int TAGS = 1 << 15;

    /** The most bytes of one transfer. */
    int MOST_BYTES = 120 << 10;

    /**
     * The most bytes of a transfer that goes without a question first. With its header it is below the 64 KiB up to which Open
     * MPI sends over TCP at once. From there on it first asks the receiver, and both links stand still until the receiver has
     * been on a core.
     */
    int UNASKED_BYTES = 63 << 10;

    /** The number of bytes at which transfers of much data are fastest, if several are under way. */
    int fastestBytes();

    /**
     * Starts to send bytes.
     *
     * @param bytes a direct buffer, sent from its position to its limit, at most {@link #MOST_BYTES}; it must not be changed or freed before the
     *     transfer is done
     */
    Transfer send(ByteBuffer bytes, int to, int tag);

    /**
     * Starts to receive bytes.
     *
     * @param bytes a direct buffer, filled from its position to its limit with exactly as many bytes as are sent
     */
    Transfer receive(ByteBuffer bytes, int from, int tag);

    /** One rank's half of a transfer that is under way. */
    interface Transfer {
        /** Moves the transfer on and says whether it is done; throws if it has failed. */
        boolean isDone();
    }
}
