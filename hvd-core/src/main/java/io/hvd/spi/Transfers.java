package io.hvd.spi;

import java.nio.ByteBuffer;

/**
 * Bytes that go from one rank to another while other things go on, any number of them at once. Started and looked
 * after on the communication thread; between two ranks, those of one tag arrive in the order in which they were
 * started.
 */
public interface Transfers {
    /** Tags are smaller than this; what every MPI allows. */
    int TAGS = 1 << 15;

    /** @param bytes direct, from its position to its limit; neither changed nor freed before the transfer is done */
    Transfer send(ByteBuffer bytes, int to, int tag);

    /** @param bytes direct; filled from its position to its limit, exactly as much as is sent */
    Transfer receive(ByteBuffer bytes, int from, int tag);

    /** One half of it, on its way. */
    interface Transfer {
        /** Moves it on; throws if it has failed. */
        boolean isDone();
    }
}
