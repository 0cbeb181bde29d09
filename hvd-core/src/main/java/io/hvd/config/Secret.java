package io.hvd.config;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.HexFormat;

/** What only the processes of a job know; no message shows it. */
public final class Secret {
    private final byte[] digest;

    private Secret(byte[] digest) {
        this.digest = digest;
    }

    /** The secret that a text gives. */
    public static Secret of(String text) {
        try {
            return new Secret(MessageDigest.getInstance("SHA-256").digest(text.getBytes(StandardCharsets.UTF_8)));
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java has SHA-256", e);
        }
    }

    /** The same secret in one of several jobs, which keeps their processes apart. */
    Secret within(String job) {
        return of(HexFormat.of().formatHex(digest) + " " + job);
    }

    /** The first bytes of its SHA-256; at most 32. */
    public byte[] bytes(int count) {
        return Arrays.copyOf(digest, count);
    }

    @Override
    public String toString() {
        return "a secret";
    }
}
