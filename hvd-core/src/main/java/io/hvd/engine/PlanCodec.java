package io.hvd.engine;

import io.hvd.engine.Announcement.Wishes;
import io.hvd.engine.SealedCodec.Reading;
import io.hvd.engine.SealedCodec.Writing;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;

/**
 * Announcements and plans as bytes; both ends run the same version of hvd. Operations that the
 * response cache knows travel as numbers: a bit each in an announcement, four bytes in a plan.
 */
final class PlanCodec {
    private PlanCodec() {}

    static ByteBuffer encode(Announcement announcement) {
        return encode(out -> {
            writeList(out, announcement.wishes(), PlanCodec::write);
            out.writeBoolean(announcement.closing());
            writeText(out, announcement.failure());
            out.writeBoolean(announcement.done());
        });
    }

    static Announcement decodeAnnouncement(ByteBuffer bytes) {
        return decode(
                bytes,
                in -> new Announcement(
                        readList(in, PlanCodec::readWishes), in.readBoolean(), readText(in), in.readBoolean()));
    }

    static ByteBuffer encode(Plan plan) {
        return encode(out -> {
            out.writeInt(plan.set());
            writeList(out, plan.batches(), BatchCodec::write);
            writeList(out, plan.lock(), (to, names) -> writeList(to, names, PlanCodec::writeText));
            out.writeBoolean(plan.stop());
            writeText(out, plan.failure());
        });
    }

    static Plan decodePlan(ByteBuffer bytes) {
        return decode(
                bytes,
                in -> new Plan(
                        in.readInt(),
                        readList(in, BatchCodec::read),
                        readList(in, from -> readList(from, PlanCodec::readText)),
                        in.readBoolean(),
                        readText(in)));
    }

    private static void write(DataOutputStream out, Wishes wishes) throws IOException {
        out.writeInt(wishes.set());
        out.writeInt(wishes.epoch());
        out.writeLong(wishes.seen());
        writeBits(out, wishes.known());
        writeList(out, wishes.fresh(), RequestCodec::write);
        writeList(out, wishes.sites(), PlanCodec::writeText);
    }

    private static Wishes readWishes(DataInputStream in) throws IOException {
        return new Wishes(
                in.readInt(),
                in.readInt(),
                in.readLong(),
                readBits(in),
                readList(in, RequestCodec::read),
                readList(in, PlanCodec::readText));
    }

    /** Numbers are never used again, so the bits begin at the lowest one. */
    private static void writeBits(DataOutputStream out, BitSet bits) throws IOException {
        int base = Math.max(0, bits.nextSetBit(0));
        byte[] window = bits.get(base, bits.length()).toByteArray();
        out.writeInt(base);
        out.writeInt(window.length);
        out.write(window);
    }

    private static BitSet readBits(DataInputStream in) throws IOException {
        int base = in.readInt();
        byte[] window = in.readNBytes(in.readInt());
        BitSet bits = new BitSet();
        BitSet.valueOf(window).stream().forEach(bit -> bits.set(base + bit));
        return bits;
    }

    static void writeLongs(DataOutputStream out, List<Long> values) throws IOException {
        writeList(out, values, DataOutputStream::writeLong);
    }

    static List<Long> readLongs(DataInputStream in) throws IOException {
        return readList(in, DataInputStream::readLong);
    }

    /** Not writeUTF: a failure text may be longer than its 64 KiB. */
    static void writeText(DataOutputStream out, String text) throws IOException {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        out.writeInt(bytes.length);
        out.write(bytes);
    }

    static String readText(DataInputStream in) throws IOException {
        return new String(in.readNBytes(in.readInt()), StandardCharsets.UTF_8);
    }

    static <T> void writeList(DataOutputStream out, List<T> list, Writing<T> element) throws IOException {
        out.writeInt(list.size());
        for (T each : list) {
            element.write(out, each);
        }
    }

    static <T> List<T> readList(DataInputStream in, Reading<T> element) throws IOException {
        List<T> list = new ArrayList<>();
        for (int left = in.readInt(); left > 0; left--) {
            list.add(element.read(in));
        }
        return list;
    }

    private static ByteBuffer encode(Body body) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream(256);
        try {
            body.write(new DataOutputStream(bytes));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return ByteBuffer.wrap(bytes.toByteArray());
    }

    private static <T> T decode(ByteBuffer bytes, Reading<T> body) {
        byte[] copy = new byte[bytes.remaining()];
        bytes.get(copy);
        try {
            return body.read(new DataInputStream(new ByteArrayInputStream(copy)));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private interface Body {
        void write(DataOutputStream out) throws IOException;
    }
}
