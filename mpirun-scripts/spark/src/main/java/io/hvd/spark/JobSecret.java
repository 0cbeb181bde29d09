package io.hvd.spark;

import java.io.Serializable;
import java.security.SecureRandom;

/** Random bytes that only the tasks of one attempt have, since they come with their code; nothing prints them. */
final class JobSecret implements Serializable {
    private static final long serialVersionUID = 1L;
    private static final int BYTES = 32;

    private final byte[] bytes;

    private JobSecret(byte[] bytes) {
        this.bytes = bytes;
    }

    static JobSecret random() {
        byte[] bytes = new byte[BYTES];
        new SecureRandom().nextBytes(bytes);
        return new JobSecret(bytes);
    }

    byte[] bytes() {
        return bytes.clone();
    }
}
