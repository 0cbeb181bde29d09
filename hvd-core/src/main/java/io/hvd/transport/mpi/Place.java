package io.hvd.transport.mpi;

import io.hvd.net.MessageReader;
import io.hvd.net.MessageWriter;

/**
 * The place of a rank, which it tells the other ranks at the start.
 *
 * @param node the identity of its host. It is not asked of MPI: MPICH 5.0 gives every rank a host of its own.
 * @param next the least number of this job, as its process sees it
 */
record Place(String node, String host, int next) {
    byte[] encode() {
        return MessageWriter.encode(out -> {
            out.writeText(node);
            out.writeText(host);
            out.writeInt(next);
        });
    }

    static Place decode(byte[] bytes) {
        return MessageReader.decode(
                "where a rank is", bytes, in -> new Place(in.readText(), in.readText(), in.readInt()));
    }
}
