package io.hvd.net;

import java.net.InetSocketAddress;

/**
 * Tells the other ranks where one of them accepts connections.
 *
 * @param secret by which they know each other
 */
public record Invitation(InetSocketAddress address, byte[] secret) {
    public byte[] encode() {
        return MessageWriter.encode(out -> {
            out.writeSocketAddress(address);
            out.writeBytes(secret);
        });
    }

    public static Invitation decode(byte[] bytes) {
        return MessageReader.decode(
                "where a rank accepts connections",
                bytes,
                in -> new Invitation(in.readSocketAddress(), in.readBytes()));
    }
}
