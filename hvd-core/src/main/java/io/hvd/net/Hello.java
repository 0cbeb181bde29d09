package io.hvd.net;

import java.nio.ByteBuffer;
import java.security.MessageDigest;

/**
 * The first bytes of every connection, always as many.
 *
 * @param secret what only processes of the job know
 * @param number who connects, or what it wants; its meaning depends on the listener
 */
record Hello(byte[] secret, int number) {
    static final int BYTES = HandshakeListener.SECRET_BYTES + Integer.BYTES;

    ByteBuffer encode() {
        return ByteBuffer.allocate(secret.length + Integer.BYTES)
                .put(secret)
                .putInt(number)
                .flip();
    }

    /** @param bytes as many as a hello has */
    static Hello decode(ByteBuffer bytes) {
        byte[] secret = new byte[HandshakeListener.SECRET_BYTES];
        bytes.get(secret);
        return new Hello(secret, bytes.getInt());
    }

    /** Takes the same time whatever the secret is. */
    boolean knows(byte[] expected) {
        return MessageDigest.isEqual(expected, secret);
    }
}
