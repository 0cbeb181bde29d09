package io.hvd.transport.mpi;

import io.hvd.net.MessageReader;
import io.hvd.net.MessageWriter;

/**
 * The place of a rank, which it tells the other ranks at the start.
 *
 * @param leader the lowest rank of its node
 * @param opened jobs that its process has been in before
 */
public record Place(int leader, String host, int opened) {
    public byte[] encode() {
        return MessageWriter.encode(out -> {
            out.writeInt(leader);
            out.writeText(host);
            out.writeInt(opened);
        });
    }

    public static Place decode(byte[] bytes) {
        return MessageReader.decode(
                "where a rank is", bytes, in -> new Place(in.readInt(), in.readText(), in.readInt()));
    }
}
