package io.hvd.timeline;

import io.hvd.net.MessageReader;
import io.hvd.net.MessageWriter;
import io.hvd.timeline.TimelineEvent.Kind;
import java.nio.ByteBuffer;
import java.util.List;

/** A message between the timelines of two ranks. */
sealed interface TimelineMessage {
    /** A question to rank 0 for its time. */
    record Ping(long sent) implements TimelineMessage {}

    record Pong(long sent, long heard, long answered) implements TimelineMessage {}

    /**
     * Events for rank 0.
     *
     * @param session number of the timeline, counted from 1
     */
    record Events(int session, List<TimelineEvent> events) implements TimelineMessage {}

    /** The end of a session, sent to rank 0. */
    record End(int session, long dropped) implements TimelineMessage {}

    default ByteBuffer encode() {
        return MessageWriter.encodeToBuffer(this::write);
    }

    private void write(MessageWriter out) {
        if (this instanceof Ping ping) {
            out.writeByte(0);
            out.writeLong(ping.sent);
        } else if (this instanceof Pong pong) {
            out.writeByte(1);
            out.writeLong(pong.sent);
            out.writeLong(pong.heard);
            out.writeLong(pong.answered);
        } else if (this instanceof Events batch) {
            out.writeByte(2);
            out.writeInt(batch.session);
            out.writeList(batch.events, TimelineMessage::write);
        } else if (this instanceof End end) {
            out.writeByte(3);
            out.writeInt(end.session);
            out.writeLong(end.dropped);
        }
    }

    static TimelineMessage decode(ByteBuffer message) {
        return MessageReader.decode("a message of the timeline", message, TimelineMessage::read);
    }

    private static TimelineMessage read(MessageReader in) {
        int kind = in.readByte();
        return switch (kind) {
            case 0 -> new Ping(in.readLong());
            case 1 -> new Pong(in.readLong(), in.readLong(), in.readLong());
            case 2 -> new Events(in.readInt(), in.readList(TimelineMessage::readEvent));
            case 3 -> new End(in.readInt(), in.readLong());
            default -> throw in.malformed("a message of kind " + kind, "0 to 3");
        };
    }

    private static void write(MessageWriter out, TimelineEvent event) {
        out.writeEnum(event.kind());
        out.writeLong(event.from());
        out.writeLong(event.to());
        out.writeInt(event.processSet());
        out.writeText(event.name());
        out.writeText(event.label());
        out.writeText(event.detail());
    }

    private static TimelineEvent readEvent(MessageReader in) {
        return new TimelineEvent(
                in.readEnum(Kind.class),
                in.readLong(),
                in.readLong(),
                in.readInt(),
                in.readText(),
                in.readText(),
                in.readText());
    }
}
