package io.hvd.monitor;

import io.hvd.net.HandshakeListener;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.security.SecureRandom;
import java.util.Arrays;
import java.util.Collection;
import java.util.Optional;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/**
 * Signs messages, and verifies that a message comes from a rank of this job: by an HMAC at the message's end, under a
 * key to which every rank has contributed. Any thread may use it.
 */
final class MessageAuthentication {
    static final int SHARE_BYTES = 16;

    private static final String ALGORITHM = "HmacSHA256";
    private static final int MAC_BYTES = 32;

    private final SecretKeySpec key;

    private MessageAuthentication(byte[] key) {
        this.key = new SecretKeySpec(key, ALGORITHM);
    }

    /** Makes one rank's contribution to the key. */
    static byte[] share() {
        byte[] share = new byte[SHARE_BYTES];
        new SecureRandom().nextBytes(share);
        return share;
    }

    /** @param shares the contributions of all ranks, by rank */
    static MessageAuthentication of(Collection<byte[]> shares) {
        try {
            MessageDigest digest = MessageDigest.getInstance("SHA-256");
            shares.forEach(digest::update);
            return new MessageAuthentication(digest.digest());
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("every JVM has SHA-256", e);
        }
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

    private byte[] mac(byte[] message) {
        try {
            Mac mac = Mac.getInstance(ALGORITHM);
            mac.init(key);
            return mac.doFinal(message);
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("every JVM has " + ALGORITHM, e);
        }
    }
}
