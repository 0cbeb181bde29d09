package io.hvd.engine;

import io.hvd.engine.Announcement.Wishes;
import io.hvd.engine.Plan.Batch;
import io.hvd.engine.Plan.Op;
import io.hvd.net.MessageReader;
import io.hvd.net.MessageWriter;
import io.hvd.spi.OpKind;
import io.hvd.spi.Reduction;
import io.hvd.tensor.DType;
import io.hvd.tensor.Device;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Shape;
import java.nio.ByteBuffer;
import java.util.List;

/**
 * Announcements and plans as bytes; both ends run the same version of hvd. Operations that the
 * response cache knows travel as numbers: a bit each in an announcement, four bytes in a plan.
 */
final class PlanCodec {
    private PlanCodec() {}

    static ByteBuffer encode(Announcement announcement) {
        return MessageWriter.encodeToBuffer(out -> {
            out.writeList(announcement.wishes(), PlanCodec::write);
            out.writeBoolean(announcement.closing());
            out.writeText(announcement.failure());
            out.writeBoolean(announcement.done());
        });
    }

    static Announcement decodeAnnouncement(ByteBuffer bytes) {
        return MessageReader.decode(
                "an announcement",
                bytes,
                in -> new Announcement(
                        in.readList(PlanCodec::readWishes), in.readBoolean(), in.readText(), in.readBoolean()));
    }

    static ByteBuffer encode(Plan plan) {
        return MessageWriter.encodeToBuffer(out -> {
            out.writeInt(plan.set());
            out.writeList(plan.batches(), PlanCodec::write);
            out.writeList(plan.lock(), (to, names) -> to.writeList(names, MessageWriter::writeText));
            out.writeBoolean(plan.stop());
            out.writeText(plan.failure());
        });
    }

    static Plan decodePlan(ByteBuffer bytes) {
        return MessageReader.decode(
                "a plan",
                bytes,
                in -> new Plan(
                        in.readInt(),
                        in.readList(PlanCodec::readBatch),
                        in.readList(from -> from.readList(MessageReader::readText)),
                        in.readBoolean(),
                        in.readText()));
    }

    private static void write(MessageWriter out, Wishes wishes) {
        out.writeInt(wishes.set());
        out.writeInt(wishes.epoch());
        out.writeLong(wishes.seen());
        out.writeBits(wishes.known());
        out.writeList(wishes.fresh(), PlanCodec::write);
        out.writeList(wishes.sites(), MessageWriter::writeText);
    }

    private static Wishes readWishes(MessageReader in) {
        return new Wishes(
                in.readInt(),
                in.readInt(),
                in.readLong(),
                in.readBits(),
                in.readList(PlanCodec::readRequest),
                in.readList(MessageReader::readText));
    }

    private static void write(MessageWriter out, Request request) {
        out.writeText(request.name());
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
        out.writeLongs(request.splits());
        out.writeText(request.group().name());
        out.writeInt(request.group().members());
    }

    private static Request readRequest(MessageReader in) {
        String name = in.readText();
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
                in.readLongs(),
                new Request.Group(in.readText(), in.readInt()));
    }

    private static void write(MessageWriter out, Batch batch) {
        out.writeList(batch.ops(), PlanCodec::write);
        out.writeByte(batch.verdict().ordinal());
        out.writeText(batch.error());
        boolean known = batch.ops().stream().allMatch(Op::isKnown);
        out.writeLongs(known ? List.of() : batch.sizes());
        out.writeList(batch.templates(), PlanCodec::write);
        out.writeInt(batch.divisor());
        out.writeBoolean(batch.remember());
    }

    private static Batch readBatch(MessageReader in) {
        return new Batch(
                in.readList(PlanCodec::readOp),
                Plan.Verdict.of(in.readByte()),
                in.readText(),
                in.readLongs(),
                in.readList(PlanCodec::readRequest),
                in.readInt(),
                in.readBoolean());
    }

    private static void write(MessageWriter out, Op op) {
        out.writeInt(op.number());
        if (!op.isKnown()) {
            out.writeText(op.name());
        }
    }

    /** The name of a known operation is left to the rank's own response cache. */
    private static Op readOp(MessageReader in) {
        int number = in.readInt();
        return new Op(number == Op.UNKNOWN ? in.readText() : "", number);
    }
}
