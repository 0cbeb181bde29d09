package io.hvd.doctor;

import io.hvd.net.HandshakeListener;
import java.util.HexFormat;

/** What the hosts of one examination know and nobody else; whoever connects says it first. */
record Secret(String hex) {

    static Secret random() {
        return new Secret(HexFormat.of().formatHex(HandshakeListener.newSecret()));
    }

    byte[] bytes() {
        return HexFormat.of().parseHex(hex);
    }

    @Override
    public String toString() {
        return "secret";
    }
}
