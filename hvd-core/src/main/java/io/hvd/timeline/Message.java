package io.hvd.timeline;

import io.hvd.timeline.Event.Kind;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/** What travels between the timelines of two ranks. */
sealed interface Message {
    /** To rank 0: what time is it? */
    record Ping(long sent) implements Message {}

    record Pong(long sent, long heard, long answered) implements Message {}

    /** To rank 0. @param session counts the timelines that were started, from 1 */
    record Events(int session, List<Event> events) implements Message {}

    /** To rank 0: there is no more of this session. */
    record End(int session, long dropped) implements Message {}

    default ByteBuffer encode() {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try {
            write(new DataOutputStream(bytes));
        } catch (IOException e) {
            throw new UncheckedIOException(e); // memory does not fail
        }
        return ByteBuffer.wrap(bytes.toByteArray());
    }

    private void write(DataOutputStream out) throws IOException {
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
            out.writeInt(batch.events.size());
            for (Event event : batch.events) {
                write(event, out);
            }
        } else if (this instanceof End end) {
            out.writeByte(3);
            out.writeInt(end.session);
            out.writeLong(end.dropped);
        }
    }

    static Message decode(ByteBuffer message) {
        byte[] bytes = new byte[message.remaining()];
        message.get(bytes);
        try (DataInputStream in = new DataInputStream(new ByteArrayInputStream(bytes))) {
            return switch (in.readByte()) {
                case 0 -> new Ping(in.readLong());
                case 1 -> new Pong(in.readLong(), in.readLong(), in.readLong());
                case 2 -> new Events(in.readInt(), readEvents(in));
                case 3 -> new End(in.readInt(), in.readLong());
                default -> throw new IOException("a message that is not the timeline's");
            };
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static void write(Event event, DataOutputStream out) throws IOException {
        out.writeByte(event.kind().ordinal());
        out.writeLong(event.from());
        out.writeLong(event.to());
        out.writeInt(event.number());
        out.writeUTF(event.name());
        out.writeUTF(event.what());
        out.writeUTF(event.text());
    }

    private static List<Event> readEvents(DataInputStream in) throws IOException {
        int count = in.readInt();
        List<Event> events = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            events.add(new Event(
                    Kind.of(in.readByte()),
                    in.readLong(),
                    in.readLong(),
                    in.readInt(),
                    in.readUTF(),
                    in.readUTF(),
                    in.readUTF()));
        }
        return events;
    }
}
