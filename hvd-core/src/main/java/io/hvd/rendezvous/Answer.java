package io.hvd.rendezvous;

import io.hvd.net.MessageReader;
import io.hvd.net.MessageWriter;
import java.util.List;

/**
 * The server's answer to a rank.
 *
 * @param all the bytes of all ranks of the job, in their order; empty if there is a complaint
 * @param complaint why there are none; empty otherwise
 * @param ofLoss whether the reason is that a rank has gone, and not what this one has asked for
 */
record Answer(List<byte[]> all, String complaint, boolean ofLoss) {
    /** For a rank that has arrived, while others have not. */
    static final Answer WELCOME = of(List.of());

    /** The most bytes of a welcome, or of a complaint in its place. */
    static final int MOST_WELCOME_BYTES = 1 << 16;

    static Answer of(List<byte[]> all) {
        return new Answer(all, "", false);
    }

    static Answer complaint(String why) {
        return new Answer(List.of(), why, false);
    }

    static Answer loss(String why) {
        return new Answer(List.of(), why, true);
    }

    byte[] encode() {
        return MessageWriter.encode(out -> {
            out.writeText(complaint);
            out.writeBoolean(ofLoss);
            out.writeList(all, MessageWriter::writeBytes);
        });
    }

    static Answer decode(byte[] bytes) {
        return MessageReader.decode("the answer of the rendezvous", bytes, in -> {
            String complaint = in.readText();
            boolean ofLoss = in.readBoolean();
            return new Answer(in.readList(MessageReader::readBytes), complaint, ofLoss);
        });
    }
}
