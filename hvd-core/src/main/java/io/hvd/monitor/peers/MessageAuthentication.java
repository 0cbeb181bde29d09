package io.hvd.monitor.peers;

import io.hvd.net.HandshakeListener;
import io.hvd.net.Hmac;
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

    private final Hmac hmac;

    private MessageAuthentication(byte[] key) {
        this.hmac = new Hmac(key);
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
        return Arrays.copyOf(hmac.of("password".getBytes(StandardCharsets.UTF_8)), HandshakeListener.SECRET_BYTES);
    }

    byte[] sign(byte[] message) {
        byte[] signed = Arrays.copyOf(message, message.length + Hmac.BYTES);
        System.arraycopy(hmac.of(message), 0, signed, message.length, Hmac.BYTES);
        return signed;
    }

    /** The message without its HMAC; empty if it does not come from a rank of this job. */
    Optional<byte[]> verify(byte[] signed) {
        if (signed.length < Hmac.BYTES) {
            return Optional.empty();
        }
        byte[] message = Arrays.copyOf(signed, signed.length - Hmac.BYTES);
        byte[] mac = Arrays.copyOfRange(signed, message.length, signed.length);
        return MessageDigest.isEqual(mac, hmac.of(message)) ? Optional.of(message) : Optional.empty();
    }

    private static MessageDigest sha256() {
        try {
            return MessageDigest.getInstance("SHA-256");
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("every JVM has SHA-256", e);
        }
    }
}
