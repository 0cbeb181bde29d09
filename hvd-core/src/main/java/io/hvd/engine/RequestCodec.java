package io.hvd.engine;

import static io.hvd.engine.PlanCodec.readList;
import static io.hvd.engine.PlanCodec.readLongs;
import static io.hvd.engine.PlanCodec.readText;
import static io.hvd.engine.PlanCodec.writeList;
import static io.hvd.engine.PlanCodec.writeLongs;
import static io.hvd.engine.PlanCodec.writeText;

import io.hvd.engine.Moving.Allgather;
import io.hvd.engine.Moving.Alltoall;
import io.hvd.engine.Moving.Broadcast;
import io.hvd.engine.Moving.Gather;
import io.hvd.engine.Moving.Receive;
import io.hvd.engine.Moving.Scatter;
import io.hvd.engine.Moving.Send;
import io.hvd.engine.Reducing.Allreduce;
import io.hvd.engine.Reducing.Reduce;
import io.hvd.engine.Reducing.Reducescatter;
import io.hvd.engine.Request.AddProcessSet;
import io.hvd.engine.Request.Barrier;
import io.hvd.engine.Request.Group;
import io.hvd.engine.Request.Join;
import io.hvd.engine.Request.Payload;
import io.hvd.engine.Request.RemoveProcessSet;
import io.hvd.engine.SealedCodec.Form;
import io.hvd.spi.Reduction;
import io.hvd.tensor.DType;
import io.hvd.tensor.Device;
import io.hvd.tensor.JoinDivisor;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Shape;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.util.List;
import java.util.Optional;

/** Requests as bytes. */
final class RequestCodec {
    private static final SealedCodec<Request> KINDS = new SealedCodec<>(List.of(
            new Form<>(Allreduce.class, RequestCodec::write, RequestCodec::readAllreduce),
            new Form<>(Reducescatter.class, RequestCodec::write, RequestCodec::readReducescatter),
            new Form<>(Reduce.class, RequestCodec::write, RequestCodec::readReduce),
            new Form<>(Allgather.class, RequestCodec::write, RequestCodec::readAllgather),
            new Form<>(Gather.class, RequestCodec::write, RequestCodec::readGather),
            new Form<>(Broadcast.class, RequestCodec::write, RequestCodec::readBroadcast),
            new Form<>(Scatter.class, RequestCodec::write, RequestCodec::readScatter),
            new Form<>(Alltoall.class, RequestCodec::write, RequestCodec::readAlltoall),
            new Form<>(Send.class, RequestCodec::write, RequestCodec::readSend),
            new Form<>(Receive.class, RequestCodec::write, RequestCodec::readReceive),
            new Form<>(Barrier.class, RequestCodec::write, RequestCodec::readBarrier),
            new Form<>(Join.class, RequestCodec::write, RequestCodec::readJoin),
            new Form<>(AddProcessSet.class, RequestCodec::write, RequestCodec::readAddProcessSet),
            new Form<>(RemoveProcessSet.class, RequestCodec::write, RequestCodec::readRemoveProcessSet)));

    private RequestCodec() {}

    static void write(DataOutputStream out, Request request) throws IOException {
        KINDS.write(out, request);
    }

    static Request read(DataInputStream in) throws IOException {
        return KINDS.read(in);
    }

    static void write(DataOutputStream out, Allreduce request) throws IOException {
        writeText(out, request.name());
        write(out, request.payload());
        write(out, request.how());
        write(out, request.group());
    }

    static Allreduce readAllreduce(DataInputStream in) throws IOException {
        return new Allreduce(readText(in), readPayload(in), readReduction(in), readGroup(in));
    }

    private static void write(DataOutputStream out, Reducescatter request) throws IOException {
        writeText(out, request.name());
        write(out, request.payload());
        write(out, request.how());
        write(out, request.group());
    }

    private static Reducescatter readReducescatter(DataInputStream in) throws IOException {
        return new Reducescatter(readText(in), readPayload(in), readReduction(in), readGroup(in));
    }

    private static void write(DataOutputStream out, Reduce request) throws IOException {
        writeText(out, request.name());
        write(out, request.payload());
        write(out, request.how());
        out.writeInt(request.root());
    }

    private static Reduce readReduce(DataInputStream in) throws IOException {
        return new Reduce(readText(in), readPayload(in), readReduction(in), in.readInt());
    }

    private static void write(DataOutputStream out, Allgather request) throws IOException {
        writeText(out, request.name());
        write(out, request.payload());
        write(out, request.group());
    }

    private static Allgather readAllgather(DataInputStream in) throws IOException {
        return new Allgather(readText(in), readPayload(in), readGroup(in));
    }

    private static void write(DataOutputStream out, Gather request) throws IOException {
        writeText(out, request.name());
        write(out, request.payload());
        out.writeInt(request.root());
    }

    private static Gather readGather(DataInputStream in) throws IOException {
        return new Gather(readText(in), readPayload(in), in.readInt());
    }

    private static void write(DataOutputStream out, Broadcast request) throws IOException {
        writeText(out, request.name());
        write(out, request.payload());
        out.writeInt(request.root());
    }

    private static Broadcast readBroadcast(DataInputStream in) throws IOException {
        return new Broadcast(readText(in), readPayload(in), in.readInt());
    }

    private static void write(DataOutputStream out, Scatter request) throws IOException {
        writeText(out, request.name());
        writeList(out, request.given().stream().toList(), RequestCodec::write);
        out.writeInt(request.root());
    }

    private static Scatter readScatter(DataInputStream in) throws IOException {
        String name = readText(in);
        Optional<Payload> given =
                readList(in, RequestCodec::readPayload).stream().findFirst();
        return new Scatter(name, given, in.readInt());
    }

    private static void write(DataOutputStream out, Alltoall request) throws IOException {
        writeText(out, request.name());
        write(out, request.payload());
        writeLongs(out, request.rows());
    }

    private static Alltoall readAlltoall(DataInputStream in) throws IOException {
        return new Alltoall(readText(in), readPayload(in), readLongs(in));
    }

    private static void write(DataOutputStream out, Send request) throws IOException {
        writeText(out, request.name());
        write(out, request.payload());
        out.writeInt(request.peer());
    }

    private static Send readSend(DataInputStream in) throws IOException {
        return new Send(readText(in), readPayload(in), in.readInt());
    }

    private static void write(DataOutputStream out, Receive request) throws IOException {
        writeText(out, request.name());
        write(out, request.payload());
        out.writeInt(request.peer());
    }

    private static Receive readReceive(DataInputStream in) throws IOException {
        return new Receive(readText(in), readPayload(in), in.readInt());
    }

    private static void write(DataOutputStream out, Barrier request) throws IOException {
        writeText(out, request.name());
        out.writeLong(request.limitMillis());
    }

    private static Barrier readBarrier(DataInputStream in) throws IOException {
        return new Barrier(readText(in), in.readLong());
    }

    private static void write(DataOutputStream out, Join request) throws IOException {
        writeText(out, request.name());
        out.writeByte(request.divisor().ordinal());
    }

    private static Join readJoin(DataInputStream in) throws IOException {
        return new Join(readText(in), JoinDivisor.values()[in.readByte()]);
    }

    private static void write(DataOutputStream out, AddProcessSet request) throws IOException {
        writeText(out, request.name());
        writeList(out, request.members(), DataOutputStream::writeInt);
    }

    private static AddProcessSet readAddProcessSet(DataInputStream in) throws IOException {
        return new AddProcessSet(readText(in), readList(in, DataInputStream::readInt));
    }

    private static void write(DataOutputStream out, RemoveProcessSet request) throws IOException {
        writeText(out, request.name());
        out.writeInt(request.set());
    }

    private static RemoveProcessSet readRemoveProcessSet(DataInputStream in) throws IOException {
        return new RemoveProcessSet(readText(in), in.readInt());
    }

    static void write(DataOutputStream out, Payload payload) throws IOException {
        out.writeByte(payload.dtype().ordinal());
        out.writeByte(payload.shape().rank());
        for (long dim : payload.shape().toArray()) {
            out.writeLong(dim);
        }
        out.writeByte(payload.device().kind().ordinal());
        out.writeByte(payload.device().index());
    }

    static Payload readPayload(DataInputStream in) throws IOException {
        DType dtype = DType.of(in.readByte());
        long[] dims = new long[in.readByte()];
        for (int i = 0; i < dims.length; i++) {
            dims[i] = in.readLong();
        }
        Device.Kind place = Device.Kind.values()[in.readByte()];
        return new Payload(dtype, Shape.of(dims), new Device(place, in.readUnsignedByte()));
    }

    private static void write(DataOutputStream out, Reduction how) throws IOException {
        out.writeByte(how.op().ordinal());
        out.writeByte(how.wire().ordinal());
        out.writeDouble(how.prescale());
        out.writeDouble(how.postscale());
    }

    private static Reduction readReduction(DataInputStream in) throws IOException {
        return new Reduction(ReduceOp.of(in.readByte()), DType.of(in.readByte()), in.readDouble(), in.readDouble());
    }

    private static void write(DataOutputStream out, Group group) throws IOException {
        writeText(out, group.name());
        out.writeInt(group.members());
    }

    private static Group readGroup(DataInputStream in) throws IOException {
        return new Group(readText(in), in.readInt());
    }
}
