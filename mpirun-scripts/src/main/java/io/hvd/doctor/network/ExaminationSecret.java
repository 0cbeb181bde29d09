package io.hvd.doctor.network;

import io.hvd.net.HandshakeListener;
import java.util.HexFormat;

/** What the hosts of one examination know and nobody else; whoever connects says it first. */
public record ExaminationSecret(String hex) {

    public static ExaminationSecret random() {
        return new ExaminationSecret(HexFormat.of().formatHex(HandshakeListener.newSecret()));
    }

    byte[] bytes() {
        return HexFormat.of().parseHex(hex);
    }

    @Override
    public String toString() {
        return "secret";
    }
}
