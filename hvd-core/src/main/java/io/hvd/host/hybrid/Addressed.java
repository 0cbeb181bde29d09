package io.hvd.host.hybrid;

import io.hvd.net.MessageReader;
import io.hvd.net.MessageWriter;
import java.nio.ByteBuffer;

/** A control message from a rank of one process to a rank of another, as it travels between the processes. */
record Addressed(int from, int to, ByteBuffer message) {
    ByteBuffer encode() {
        return MessageWriter.encodeToBuffer(out -> {
            out.writeInt(from);
            out.writeInt(to);
            out.writeRest(message);
        });
    }

    static Addressed decode(ByteBuffer bytes) {
        return MessageReader.decode(
                "a message between threads of two processes",
                bytes,
                in -> new Addressed(in.readInt(), in.readInt(), in.readRest()));
    }
}
