package io.hvd.spark;

import io.hvd.net.HandshakeListener;
import java.io.Serializable;

/** Random bytes that only the tasks of one attempt have, since they come with their code; nothing prints them. */
final class JobSecret implements Serializable {
    private static final long serialVersionUID = 1L;

    private final byte[] bytes;

    private JobSecret(byte[] bytes) {
        this.bytes = bytes;
    }

    static JobSecret random() {
        return new JobSecret(HandshakeListener.newSecret());
    }

    byte[] bytes() {
        return bytes.clone();
    }
}
