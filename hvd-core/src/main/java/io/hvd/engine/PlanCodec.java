package io.hvd.engine;

import io.hvd.tensor.DType;
import io.hvd.tensor.Device;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Shape;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInput;
import java.io.DataInputStream;
import java.io.DataOutput;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/** Announcements and plans as bytes; both ends run the same version of hvd. */
final class PlanCodec {
    private PlanCodec() {}

    static ByteBuffer encode(Announcement announcement) {
        return encode(out -> {
            out.writeInt(announcement.fresh().size());
            for (Request request : announcement.fresh()) {
                write(out, request);
            }
            out.writeBoolean(announcement.closing());
            writeText(out, announcement.failure());
        });
    }

    static Announcement decodeAnnouncement(ByteBuffer bytes) {
        return decode(bytes, in -> {
            List<Request> fresh = new ArrayList<>();
            for (int left = in.readInt(); left > 0; left--) {
                fresh.add(readRequest(in));
            }
            return new Announcement(fresh, in.readBoolean(), readText(in));
        });
    }

    static ByteBuffer encode(Plan plan) {
        return encode(out -> {
            out.writeInt(plan.batches().size());
            for (Plan.Batch batch : plan.batches()) {
                write(out, batch);
            }
            out.writeBoolean(plan.stop());
            writeText(out, plan.failure());
        });
    }

    static Plan decodePlan(ByteBuffer bytes) {
        return decode(bytes, in -> {
            List<Plan.Batch> batches = new ArrayList<>();
            for (int left = in.readInt(); left > 0; left--) {
                batches.add(readBatch(in));
            }
            return new Plan(batches, in.readBoolean(), readText(in));
        });
    }

    private static void write(DataOutput out, Request request) throws IOException {
        writeText(out, request.name());
        out.writeByte(request.kind().ordinal());
        out.writeByte(request.dtype().ordinal());
        out.writeByte(request.device().ordinal());
        out.writeByte(request.op().ordinal());
        out.writeByte(request.wire().ordinal());
        out.writeDouble(request.prescale());
        out.writeDouble(request.postscale());
        out.writeInt(request.root());
        out.writeByte(request.shape().rank());
        for (long dim : request.shape().toArray()) {
            out.writeLong(dim);
        }
    }

    private static Request readRequest(DataInput in) throws IOException {
        String name = readText(in);
        OpKind kind = OpKind.of(in.readByte());
        DType dtype = DType.of(in.readByte());
        Device.Kind device = Device.Kind.values()[in.readByte()];
        ReduceOp op = ReduceOp.of(in.readByte());
        DType wire = DType.of(in.readByte());
        double prescale = in.readDouble();
        double postscale = in.readDouble();
        int root = in.readInt();
        long[] dims = new long[in.readByte()];
        for (int i = 0; i < dims.length; i++) {
            dims[i] = in.readLong();
        }
        return new Request(name, kind, dtype, Shape.of(dims), device, op, wire, prescale, postscale, root);
    }

    private static void write(DataOutput out, Plan.Batch batch) throws IOException {
        out.writeInt(batch.names().size());
        for (String name : batch.names()) {
            writeText(out, name);
        }
        out.writeByte(batch.verdict().ordinal());
        writeText(out, batch.error());
        out.writeInt(batch.firstDims().size());
        for (long dim : batch.firstDims()) {
            out.writeLong(dim);
        }
    }

    private static Plan.Batch readBatch(DataInput in) throws IOException {
        List<String> names = new ArrayList<>();
        for (int left = in.readInt(); left > 0; left--) {
            names.add(readText(in));
        }
        Plan.Verdict verdict = Plan.Verdict.of(in.readByte());
        String error = readText(in);
        List<Long> firstDims = new ArrayList<>();
        for (int left = in.readInt(); left > 0; left--) {
            firstDims.add(in.readLong());
        }
        return new Plan.Batch(names, verdict, error, firstDims);
    }

    /** Not writeUTF: a failure text may be longer than its 64 KiB. */
    private static void writeText(DataOutput out, String text) throws IOException {
        byte[] bytes = text.getBytes(java.nio.charset.StandardCharsets.UTF_8);
        out.writeInt(bytes.length);
        out.write(bytes);
    }

    private static String readText(DataInput in) throws IOException {
        byte[] bytes = new byte[in.readInt()];
        in.readFully(bytes);
        return new String(bytes, java.nio.charset.StandardCharsets.UTF_8);
    }

    private static ByteBuffer encode(Writing body) {
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

    private interface Writing {
        void write(DataOutput out) throws IOException;
    }

    private interface Reading<T> {
        T read(DataInput in) throws IOException;
    }
}
