package io.hvd.rendezvous;

import io.hvd.net.MessageReader;
import io.hvd.net.MessageWriter;
import java.util.List;

/**
 * The server's answer to a rank.
 *
 * @param all the bytes of all ranks of the job, in their order; empty if there is a complaint
 * @param complaint why there are none; empty otherwise
 */
record Answer(List<byte[]> all, String complaint) {
    /** For a rank that has arrived, while others have not. */
    static final Answer WELCOME = new Answer(List.of(), "");

    /** The most bytes of a welcome, or of a complaint in its place. */
    static final int MOST_WELCOME_BYTES = 1 << 16;

    static Answer complaint(String why) {
        return new Answer(List.of(), why);
    }

    byte[] encode() {
        return MessageWriter.encode(out -> {
            out.writeText(complaint);
            out.writeList(all, MessageWriter::writeBytes);
        });
    }

    static Answer decode(byte[] bytes) {
        return MessageReader.decode("the answer of the rendezvous", bytes, in -> {
            String complaint = in.readText();
            return new Answer(in.readList(MessageReader::readBytes), complaint);
        });
    }
}
