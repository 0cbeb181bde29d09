package io.hvd.net;

import java.nio.ByteBuffer;
import java.util.Optional;

/**
 * The first bytes of every connection, which always have the same length and are no secret.
 *
 * @param word random bytes, by which no two connections have the same proofs
 * @param number tells who connects, or what it wants; its meaning depends on the listener
 */
record Hello(byte[] word, int number) {
    /** The bytes of "hvd" and the version of what follows. No other protocol, and no TLS, begins with them. */
    private static final int BEGINNING = 0x68_76_64_01;

    static final int BYTES = Integer.BYTES + Proofs.WORD_BYTES + Integer.BYTES;

    static Hello of(int number) {
        return new Hello(Proofs.newWord(), number);
    }

    ByteBuffer encode() {
        return ByteBuffer.allocate(BYTES)
                .putInt(BEGINNING)
                .put(word)
                .putInt(number)
                .flip();
    }

    /** @return empty if the bytes, of which there are as many as a hello has, are something else */
    static Optional<Hello> decode(ByteBuffer bytes) {
        boolean known = bytes.getInt() == BEGINNING;
        byte[] word = new byte[Proofs.WORD_BYTES];
        bytes.get(word);
        return known ? Optional.of(new Hello(word, bytes.getInt())) : Optional.empty();
    }
}
