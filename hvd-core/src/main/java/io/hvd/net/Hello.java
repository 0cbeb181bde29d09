package io.hvd.net;

import java.nio.ByteBuffer;
import java.security.MessageDigest;

/**
 * The first bytes of every connection, which always have the same length.
 *
 * @param secret known to the processes of the job only
 * @param number tells who connects, or what it wants; its meaning depends on the listener
 */
record Hello(byte[] secret, int number) {
    static final int BYTES = HandshakeListener.SECRET_BYTES + Integer.BYTES;

    ByteBuffer encode() {
        return ByteBuffer.allocate(secret.length + Integer.BYTES)
                .put(secret)
                .putInt(number)
                .flip();
    }

    /** @param bytes exactly the bytes of one hello */
    static Hello decode(ByteBuffer bytes) {
        byte[] secret = new byte[HandshakeListener.SECRET_BYTES];
        bytes.get(secret);
        return new Hello(secret, bytes.getInt());
    }

    /** Compares the secrets in a time that does not depend on their bytes. */
    boolean knows(byte[] expected) {
        return MessageDigest.isEqual(expected, secret);
    }
}
