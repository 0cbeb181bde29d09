package io.hvd.rendezvous;

import io.hvd.net.MessageReader;
import io.hvd.net.MessageWriter;
import java.util.List;

/**
 * The first message of a rank; its number is in the hello.
 *
 * @param host the name of its host, for messages
 * @param size how many ranks its launcher's job has
 * @param members the ranks of the job that it joins, in their new order
 */
record Arrival(String host, int size, List<Integer> members) {
    /** The most bytes of such a message. */
    static final int MOST_BYTES = 1 << 20;

    Arrival {
        members = List.copyOf(members);
    }

    byte[] encode() {
        return MessageWriter.encode(out -> {
            out.writeText(host);
            out.writeInt(size);
            out.writeList(members, MessageWriter::writeInt);
        });
    }

    static Arrival decode(byte[] bytes) {
        return MessageReader.decode(
                "the arrival of a rank",
                bytes,
                in -> new Arrival(in.readText(), in.readInt(), in.readList(MessageReader::readInt)));
    }
}
