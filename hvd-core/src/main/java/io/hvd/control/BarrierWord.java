package io.hvd.control;

import io.hvd.net.MessageReader;
import io.hvd.net.MessageWriter;
import java.nio.ByteBuffer;

/**
 * The message that ranks send each other at the {@link FinalBarrier}.
 *
 * @param meeting number of the meeting, counted from one
 */
record BarrierWord(int meeting, What what) {
    /** The meaning of the message: that a rank has come or, from rank 0, whether all have. */
    enum What {
        HERE,
        ALL_HERE,
        NOT_ALL
    }

    ByteBuffer encode() {
        return MessageWriter.encodeToBuffer(out -> {
            out.writeInt(meeting);
            out.writeEnum(what);
        });
    }

    static BarrierWord decode(ByteBuffer message) {
        return MessageReader.decode(
                "a word of the final barrier", message, in -> new BarrierWord(in.readInt(), in.readEnum(What.class)));
    }
}
