package io.hvd.net;

import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.util.Arrays;

/**
 * The HMAC of RFC 2104 with SHA-256 under one key. {@code javax.crypto.Mac} gives the same bytes, but looks through all providers
 * of ciphers first, which every rank would wait for when it joins. Any thread may use it.
 */
public final class Hmac {
    public static final int BYTES = 32;

    /** The bytes that SHA-256 takes at a time. */
    private static final int BLOCK_BYTES = 64;

    /** Each byte of the key is combined with it for the inner digest by an exclusive or, and with the next one for the outer. */
    private static final int INNER = 0x36;

    private static final int OUTER = 0x5c;

    private final byte[] inner;
    private final byte[] outer;

    /**
     * @param key at most 64 bytes
     * @throws IllegalArgumentException for a longer key, of which an HMAC takes a digest
     */
    public Hmac(byte[] key) {
        if (key.length > BLOCK_BYTES) {
            throw new IllegalArgumentException("a key of " + key.length + " bytes is longer than " + BLOCK_BYTES);
        }
        this.inner = combined(key, INNER);
        this.outer = combined(key, OUTER);
    }

    private static byte[] combined(byte[] key, int with) {
        byte[] block = Arrays.copyOf(key, BLOCK_BYTES);
        for (int i = 0; i < BLOCK_BYTES; i++) {
            block[i] ^= (byte) with;
        }
        return block;
    }

    public byte[] of(byte[] message) {
        MessageDigest digest = sha256();
        digest.update(inner);
        byte[] innerDigest = digest.digest(message);
        digest.update(outer);
        return digest.digest(innerDigest);
    }

    private static MessageDigest sha256() {
        try {
            return MessageDigest.getInstance("SHA-256");
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("every JVM has SHA-256", e);
        }
    }
}
