package io.hvd.doctor;

import java.security.MessageDigest;
import java.security.SecureRandom;
import java.util.HexFormat;

/** What the hosts of one examination know and nobody else; whoever connects says it first. */
record Secret(String hex) {

    static final int BYTES = 16;

    static Secret random() {
        byte[] bytes = new byte[BYTES];
        new SecureRandom().nextBytes(bytes);
        return new Secret(HexFormat.of().formatHex(bytes));
    }

    byte[] bytes() {
        return HexFormat.of().parseHex(hex);
    }

    /** Takes the same time wherever the difference is. */
    boolean is(byte[] said) {
        return MessageDigest.isEqual(said, bytes());
    }

    @Override
    public String toString() {
        return "secret";
    }
}
