package io.hvd.monitor;

import io.hvd.net.MessageReader;
import io.hvd.net.MessageWriter;

/**
 * A sign of life, sent as a datagram.
 *
 * @param rank the sender
 * @param number each rank numbers its own signs of life
 */
record Heartbeat(int rank, long number, Activity activity) {
    void encode(MessageWriter out) {
        out.writeInt(rank);
        out.writeLong(number);
        Wire.activity(out, activity);
    }

    static Heartbeat decode(MessageReader in) {
        return new Heartbeat(in.readInt(), in.readLong(), Wire.activity(in));
    }
}
