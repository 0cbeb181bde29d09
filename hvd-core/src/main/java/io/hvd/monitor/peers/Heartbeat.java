package io.hvd.monitor.peers;

import io.hvd.monitor.view.Activity;
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
        MonitorCodec.activity(out, activity);
    }

    static Heartbeat decode(MessageReader in) {
        return new Heartbeat(in.readInt(), in.readLong(), MonitorCodec.activity(in));
    }
}
