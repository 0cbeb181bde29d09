package io.hvd.backend.mpi;

import io.hvd.net.MessageReader;
import io.hvd.net.MessageWriter;
import java.nio.ByteBuffer;

/** What ranks tell each other at the {@link FinalBarrier}. @param meeting counted from one */
record BarrierWord(int meeting, What what) {
    /** A rank is here; rank 0 says whether all are. */
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
