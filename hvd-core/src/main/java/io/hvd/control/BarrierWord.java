package io.hvd.control;

import io.hvd.net.MessageReader;
import io.hvd.net.MessageWriter;
import java.nio.ByteBuffer;

/**
 * The message that ranks send each other at the {@link FinalBarrier}.
 *
 * @param meeting number of the meeting, counted from one
 * @param other with {@link What#NOT_ALL} from rank 0, a rank that keeps the others from meeting
 */
record BarrierWord(int meeting, What what, int other) {
    /** The meaning of the message: that a rank has come and for what or, from rank 0, whether all have. */
    enum What {
        /** To leave. */
        HERE,
        /** To join another job. */
        AGAIN,
        ALL_HERE,
        NOT_ALL
    }

    ByteBuffer encode() {
        return MessageWriter.encodeToBuffer(out -> {
            out.writeInt(meeting);
            out.writeEnum(what);
            out.writeInt(other);
        });
    }

    static BarrierWord decode(ByteBuffer message) {
        return MessageReader.decode(
                "a word of the final barrier",
                message,
                in -> new BarrierWord(in.readInt(), in.readEnum(What.class), in.readInt()));
    }
}
