package io.hvd.engine.message;

import io.hvd.engine.message.Announcement.Wishes;
import io.hvd.net.MessageReader;
import io.hvd.net.MessageWriter;
import java.nio.ByteBuffer;

/**
 * Writes announcements and plans as bytes and reads them back; both ends run the same version of hvd. Operations that
 * the response cache knows are written as numbers: one bit each in an announcement, four bytes each in a plan.
 */
public final class PlanCodec {
    private PlanCodec() {}

    public static ByteBuffer encode(Announcement announcement) {
        return MessageWriter.encodeToBuffer(out -> {
            out.writeList(announcement.wishes(), PlanCodec::write);
            out.writeBoolean(announcement.closing());
            out.writeText(announcement.failure());
            out.writeBoolean(announcement.done());
        });
    }

    public static Announcement decodeAnnouncement(ByteBuffer bytes) {
        return MessageReader.decode(
                "an announcement",
                bytes,
                in -> new Announcement(
                        in.readList(PlanCodec::readWishes), in.readBoolean(), in.readText(), in.readBoolean()));
    }

    public static ByteBuffer encode(Plan plan) {
        return MessageWriter.encodeToBuffer(out -> {
            out.writeInt(plan.set());
            out.writeList(plan.batches(), BatchCodec::write);
            out.writeList(plan.lock(), (to, names) -> to.writeList(names, MessageWriter::writeText));
            out.writeBoolean(plan.stop());
            out.writeText(plan.failure());
            out.writeList(plan.tuning().stream().toList(), PlanCodec::write);
        });
    }

    public static Plan decodePlan(ByteBuffer bytes) {
        return MessageReader.decode(
                "a plan",
                bytes,
                in -> new Plan(
                        in.readInt(),
                        in.readList(BatchCodec::read),
                        in.readList(from -> from.readList(MessageReader::readText)),
                        in.readBoolean(),
                        in.readText(),
                        in.readList(PlanCodec::readTuning).stream().findFirst()));
    }

    private static void write(MessageWriter out, Tuning tuning) {
        out.writeLong(tuning.settings().fusionThresholdBytes());
        out.writeLong(tuning.settings().cycleNanos());
        out.writeLong(tuning.settings().bucketBytes());
        out.writeInt(tuning.settings().levels());
        out.writeText(tuning.result());
    }

    private static Tuning readTuning(MessageReader in) {
        return new Tuning(new Tunable(in.readLong(), in.readLong(), in.readLong(), in.readInt()), in.readText());
    }

    private static void write(MessageWriter out, Wishes wishes) {
        out.writeInt(wishes.set());
        out.writeInt(wishes.epoch());
        out.writeLong(wishes.seen());
        out.writeBits(wishes.known());
        out.writeList(wishes.fresh(), RequestCodec::write);
        out.writeList(wishes.sites(), MessageWriter::writeText);
    }

    private static Wishes readWishes(MessageReader in) {
        return new Wishes(
                in.readInt(),
                in.readInt(),
                in.readLong(),
                in.readBits(),
                in.readList(RequestCodec::read),
                in.readList(MessageReader::readText));
    }
}
