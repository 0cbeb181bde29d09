package io.hvd.monitor.peers;

import io.hvd.net.HandshakeListener;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.security.SecureRandom;
import java.util.Arrays;
import java.util.Collection;
import java.util.Optional;

/**
 * Signs messages, and verifies that a message comes from a rank of this job: by an HMAC at the message's end, under a
 * key to which every rank has contributed. Any thread may use it.
 */
final class MessageAuthentication {
    static final int SHARE_BYTES = 16;

    private static final int MAC_BYTES = 32;
    /** The bytes that SHA-256 takes at a time. */
    private static final int BLOCK_BYTES = 64;

    /** Each byte of the key is combined with it for the inner digest by an exclusive or, and with the next one for the outer (RFC 2104). */
    private static final int INNER = 0x36;

    private static final int OUTER = 0x5c;

    private final byte[] inner;
    private final byte[] outer;

    /**
     * @param key at most 64 bytes
     * @throws IllegalArgumentException for a longer key, of which an HMAC takes a digest
     */
    MessageAuthentication(byte[] key) {
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

    /** Makes one rank's contribution to the key. */
    static byte[] share() {
        byte[] share = new byte[SHARE_BYTES];
        new SecureRandom().nextBytes(share);
        return share;
    }

    /** @param shares the contributions of all ranks, by rank */
    static MessageAuthentication of(Collection<byte[]> shares) {
        MessageDigest digest = sha256();
        shares.forEach(digest::update);
        return new MessageAuthentication(digest.digest());
    }

    /** The password of the ranks' connections to each other; the key cannot be derived from it. */
    byte[] password() {
        return Arrays.copyOf(mac("password".getBytes(StandardCharsets.UTF_8)), HandshakeListener.SECRET_BYTES);
    }

    byte[] sign(byte[] message) {
        byte[] signed = Arrays.copyOf(message, message.length + MAC_BYTES);
        System.arraycopy(mac(message), 0, signed, message.length, MAC_BYTES);
        return signed;
    }

    /** The message without its HMAC; empty if it does not come from a rank of this job. */
    Optional<byte[]> verify(byte[] signed) {
        if (signed.length < MAC_BYTES) {
            return Optional.empty();
        }
        byte[] message = Arrays.copyOf(signed, signed.length - MAC_BYTES);
        byte[] mac = Arrays.copyOfRange(signed, message.length, signed.length);
        return MessageDigest.isEqual(mac, mac(message)) ? Optional.of(message) : Optional.empty();
    }

    /**
     * The HMAC of RFC 2104 with SHA-256. {@code javax.crypto.Mac} gives the same bytes, but looks through all providers of
     * ciphers first, which every rank would wait for when it joins.
     */
    byte[] mac(byte[] message) {
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
