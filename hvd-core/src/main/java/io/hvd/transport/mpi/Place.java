package io.hvd.transport.mpi;

import io.hvd.net.MessageReader;
import io.hvd.net.MessageWriter;

/**
 * The place of a rank, which it tells the other ranks at the start.
 *
 * @param leader the lowest rank of its node
 * @param next the least number of this job, as its process sees it
 */
record Place(int leader, String host, int next) {
    byte[] encode() {
        return MessageWriter.encode(out -> {
            out.writeInt(leader);
            out.writeText(host);
            out.writeInt(next);
        });
    }

    static Place decode(byte[] bytes) {
        return MessageReader.decode(
                "where a rank is", bytes, in -> new Place(in.readInt(), in.readText(), in.readInt()));
    }
}
