package io.hvd.engine;

import io.hvd.engine.Announcement.Wishes;
import io.hvd.engine.Plan.Batch;
import io.hvd.engine.Plan.Op;
import io.hvd.spi.OpKind;
import io.hvd.spi.Reduction;
import io.hvd.tensor.DType;
import io.hvd.tensor.Device;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Shape;
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
            writeList(out, plan.batches(), PlanCodec::write);
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
                        readList(in, PlanCodec::readBatch),
                        readList(in, from -> readList(from, PlanCodec::readText)),
                        in.readBoolean(),
                        readText(in)));
    }

    private static void write(DataOutputStream out, Wishes wishes) throws IOException {
        out.writeInt(wishes.set());
        out.writeInt(wishes.epoch());
        out.writeLong(wishes.seen());
        writeBits(out, wishes.known());
        writeList(out, wishes.fresh(), PlanCodec::write);
        writeList(out, wishes.sites(), PlanCodec::writeText);
    }

    private static Wishes readWishes(DataInputStream in) throws IOException {
        return new Wishes(
                in.readInt(),
                in.readInt(),
                in.readLong(),
                readBits(in),
                readList(in, PlanCodec::readRequest),
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

    private static void write(DataOutputStream out, Request request) throws IOException {
        writeText(out, request.name());
        out.writeByte(request.kind().ordinal());
        out.writeByte(request.dtype().ordinal());
        out.writeByte(request.device().kind().ordinal());
        out.writeByte(request.device().index());
        out.writeByte(request.how().op().ordinal());
        out.writeByte(request.how().wire().ordinal());
        out.writeDouble(request.how().prescale());
        out.writeDouble(request.how().postscale());
        out.writeLong(request.argument());
        out.writeByte(request.shape().rank());
        for (long dim : request.shape().toArray()) {
            out.writeLong(dim);
        }
        writeLongs(out, request.splits());
        writeText(out, request.group().name());
        out.writeInt(request.group().members());
    }

    private static Request readRequest(DataInputStream in) throws IOException {
        String name = readText(in);
        OpKind kind = OpKind.of(in.readByte());
        DType dtype = DType.of(in.readByte());
        Device device = new Device(Device.Kind.values()[in.readByte()], in.readUnsignedByte());
        ReduceOp op = ReduceOp.of(in.readByte());
        DType wire = DType.of(in.readByte());
        Reduction how = new Reduction(op, wire, in.readDouble(), in.readDouble());
        long argument = in.readLong();
        long[] dims = new long[in.readByte()];
        for (int i = 0; i < dims.length; i++) {
            dims[i] = in.readLong();
        }
        return new Request(
                name,
                kind,
                new Request.Payload(dtype, Shape.of(dims), device),
                how,
                argument,
                readLongs(in),
                new Request.Group(readText(in), in.readInt()));
    }

    private static void write(DataOutputStream out, Batch batch) throws IOException {
        writeList(out, batch.ops(), PlanCodec::write);
        out.writeByte(batch.verdict().ordinal());
        writeText(out, batch.error());
        boolean known = batch.ops().stream().allMatch(Op::isKnown);
        writeLongs(out, known ? List.of() : batch.sizes());
        writeList(out, batch.templates(), PlanCodec::write);
        out.writeInt(batch.divisor());
        out.writeBoolean(batch.remember());
    }

    private static Batch readBatch(DataInputStream in) throws IOException {
        return new Batch(
                readList(in, PlanCodec::readOp),
                Plan.Verdict.of(in.readByte()),
                readText(in),
                readLongs(in),
                readList(in, PlanCodec::readRequest),
                in.readInt(),
                in.readBoolean());
    }

    private static void write(DataOutputStream out, Op op) throws IOException {
        out.writeInt(op.number());
        if (!op.isKnown()) {
            writeText(out, op.name());
        }
    }

    /** The name of a known operation is left to the rank's own response cache. */
    private static Op readOp(DataInputStream in) throws IOException {
        int number = in.readInt();
        return new Op(number == Op.UNKNOWN ? readText(in) : "", number);
    }

    private static void writeLongs(DataOutputStream out, List<Long> values) throws IOException {
        writeList(out, values, DataOutputStream::writeLong);
    }

    private static List<Long> readLongs(DataInputStream in) throws IOException {
        return readList(in, DataInputStream::readLong);
    }

    /** Not writeUTF: a failure text may be longer than its 64 KiB. */
    private static void writeText(DataOutputStream out, String text) throws IOException {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        out.writeInt(bytes.length);
        out.write(bytes);
    }

    private static String readText(DataInputStream in) throws IOException {
        return new String(in.readNBytes(in.readInt()), StandardCharsets.UTF_8);
    }

    private static <T> void writeList(DataOutputStream out, List<T> list, Writing<T> element) throws IOException {
        out.writeInt(list.size());
        for (T each : list) {
            element.write(out, each);
        }
    }

    private static <T> List<T> readList(DataInputStream in, Reading<T> element) throws IOException {
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

    private interface Writing<T> {
        void write(DataOutputStream out, T value) throws IOException;
    }

    private interface Reading<T> {
        T read(DataInputStream in) throws IOException;
    }
}
