package io.hvd.monitor;

import io.hvd.net.MessageReader;
import io.hvd.net.MessageWriter;

/**
 * A sign of life, sent as a datagram.
 *
 * @param rank the sender
 * @param number each rank numbers its own signs of life
 */
record Beat(int rank, long number, Activity activity) {
    void encode(MessageWriter out) {
        out.writeInt(rank);
        out.writeLong(number);
        Wire.activity(out, activity);
    }

    static Beat decode(MessageReader in) {
        return new Beat(in.readInt(), in.readLong(), Wire.activity(in));
    }
}
