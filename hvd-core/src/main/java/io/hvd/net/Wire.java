package io.hvd.net;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;

/**
 * The bytes of a TCP connection, as they are or encrypted. One thread uses it; any thread may close its socket, which ends
 * every call. While the socket blocks, so do the calls, and reads no longer than the socket's timeout.
 */
public interface Wire {

    /** The socket below, for its options, for a selector, and to be closed. */
    SocketChannel socket();

    /**
     * Does what has to be done before bytes can be read and written, as far as it is possible now.
     *
     * @return whether it is done; otherwise this is called again when the socket can be read or, if something is not
     *     flushed, written
     * @throws IOException if the other end is none to talk to
     */
    boolean shake() throws IOException;

    /** @return the number of bytes; 0 if there are none now, -1 at the end */
    int read(ByteBuffer into) throws IOException;

    /** The same, into one buffer after the other. */
    long read(ByteBuffer[] into) throws IOException;

    /** @return the number of bytes taken, which need not be flushed */
    int write(ByteBuffer from) throws IOException;

    /** The same, from one buffer after the other. */
    long write(ByteBuffer[] from) throws IOException;

    /**
     * Hands on to the system what was taken.
     *
     * @return whether nothing is left
     */
    boolean flush() throws IOException;

    /** Whether bytes have come that no selector tells of, so that a read may succeed while the socket has nothing. */
    boolean holdsBytes();
}
