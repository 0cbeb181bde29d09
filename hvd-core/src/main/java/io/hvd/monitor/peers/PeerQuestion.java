package io.hvd.monitor.peers;

import io.hvd.monitor.view.HangReport;
import io.hvd.monitor.view.LiveReport;
import io.hvd.monitor.view.ProcessState;
import io.hvd.net.MessageReader;
import io.hvd.net.MessageWriter;

/** A question that one rank's monitor asks another, over a connection that is made for it. */
sealed interface PeerQuestion {
    /** Asks what the rank is doing; the answer is a {@link LiveReport}. */
    record Report() implements PeerQuestion {}

    /** Asks what has become of another rank's process; the answer is a {@link ProcessState}. */
    record State(int suspect) implements PeerQuestion {}

    /** Says that the job ends; the answer is true. */
    record End(HangReport report) implements PeerQuestion {}

    /** Says that the job cannot go on, and why; the answer is true. */
    record GivenUp(String why) implements PeerQuestion {}

    default byte[] encode() {
        return MessageWriter.encode(this::write);
    }

    private void write(MessageWriter out) {
        if (this instanceof State state) {
            out.writeByte(2);
            out.writeInt(state.suspect);
        } else if (this instanceof End end) {
            out.writeByte(3);
            MonitorCodec.hang(out, end.report);
        } else if (this instanceof GivenUp givenUp) {
            out.writeByte(4);
            out.writeText(givenUp.why);
        } else {
            out.writeByte(1);
        }
    }

    static PeerQuestion decode(MessageReader in) {
        int kind = in.readByte();
        return switch (kind) {
            case 1 -> new Report();
            case 2 -> new State(in.readInt());
            case 3 -> new End(MonitorCodec.hang(in));
            case 4 -> new GivenUp(in.readText());
            default -> throw in.malformed("a question of kind " + kind, "1 to 4");
        };
    }
}
