package io.hvd.net;

import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.security.SecureRandom;

/**
 * By which the two ends of a new connection know each other as processes of one job, while the secret itself stays at home:
 * <pre>
 * who has called: {@link Hello}      (24 bytes)
 * who listens:    word, its proof    (48 bytes)
 * who has called: its proof          (32 bytes)
 * </pre>
 * A proof is an HMAC under the secret of whose proof it is, of both words, and of the number in the hello. The listener
 * begins, because a caller may have come to another program, which learns nothing from it then.
 */
final class Proofs {
    static final int WORD_BYTES = 16;
    static final int BYTES = Hmac.BYTES;
    static final int ANSWER_BYTES = WORD_BYTES + BYTES;

    private static final byte LISTENER = 1;
    private static final byte CALLER = 2;

    private final Hmac secret;
    private final Hello hello;
    private final byte[] word;

    /** @param word the listener's */
    Proofs(byte[] secret, Hello hello, byte[] word) {
        this.secret = new Hmac(secret);
        this.hello = hello;
        this.word = word;
    }

    static byte[] newWord() {
        byte[] word = new byte[WORD_BYTES];
        new SecureRandom().nextBytes(word);
        return word;
    }

    /** What a listener says to a hello. */
    ByteBuffer answer() {
        return ByteBuffer.allocate(ANSWER_BYTES).put(word).put(proof(LISTENER)).flip();
    }

    /** What a caller says to that. */
    ByteBuffer reply() {
        return ByteBuffer.wrap(proof(CALLER));
    }

    boolean isOfListener(byte[] proof) {
        return MessageDigest.isEqual(proof(LISTENER), proof);
    }

    boolean isOfCaller(byte[] proof) {
        return MessageDigest.isEqual(proof(CALLER), proof);
    }

    private byte[] proof(byte whose) {
        return secret.of(ByteBuffer.allocate(1 + 2 * WORD_BYTES + Integer.BYTES)
                .put(whose)
                .put(hello.word())
                .put(word)
                .putInt(hello.number())
                .array());
    }
}
