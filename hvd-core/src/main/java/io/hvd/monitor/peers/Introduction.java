package io.hvd.monitor.peers;

import io.hvd.monitor.view.RankProcess;
import io.hvd.net.MessageReader;
import io.hvd.net.MessageWriter;
import java.net.InetSocketAddress;

/**
 * The message by which a rank introduces itself to all others at the start.
 *
 * @param questions where it accepts connections with questions
 * @param heartbeats where it receives signs of life, as datagrams
 * @param share its part of the key
 */
record Introduction(RankProcess member, InetSocketAddress questions, InetSocketAddress heartbeats, byte[] share) {

    byte[] encode() {
        return MessageWriter.encode(out -> {
            out.writeInt(member.rank());
            out.writeText(member.host());
            out.writeLong(member.pid());
            out.writeLong(member.startTicks());
            out.writeText(member.machine());
            out.writeSocketAddress(questions);
            out.writeSocketAddress(heartbeats);
            out.writeBytes(share);
        });
    }

    static Introduction decode(byte[] bytes) {
        return MessageReader.decode(
                "an introduction between monitors",
                bytes,
                in -> new Introduction(member(in), in.readSocketAddress(), in.readSocketAddress(), in.readBytes()));
    }

    private static RankProcess member(MessageReader in) {
        return new RankProcess(in.readInt(), in.readText(), in.readLong(), in.readLong(), in.readText());
    }
}
