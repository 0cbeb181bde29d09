package io.hvd.engine.message;

import io.hvd.engine.message.Moving.Allgather;
import io.hvd.engine.message.Moving.Alltoall;
import io.hvd.engine.message.Moving.Broadcast;
import io.hvd.engine.message.Moving.Gather;
import io.hvd.engine.message.Moving.Receive;
import io.hvd.engine.message.Moving.Scatter;
import io.hvd.engine.message.Moving.Send;
import io.hvd.engine.message.Reducing.Allreduce;
import io.hvd.engine.message.Reducing.Reduce;
import io.hvd.engine.message.Reducing.Reducescatter;
import io.hvd.engine.message.Request.AddProcessSet;
import io.hvd.engine.message.Request.Barrier;
import io.hvd.engine.message.Request.Group;
import io.hvd.engine.message.Request.Join;
import io.hvd.engine.message.Request.Payload;
import io.hvd.engine.message.Request.RemoveProcessSet;
import io.hvd.engine.message.SealedCodec.Form;
import io.hvd.net.MessageReader;
import io.hvd.net.MessageWriter;
import io.hvd.spi.Reduction;
import io.hvd.tensor.DType;
import io.hvd.tensor.Device;
import io.hvd.tensor.JoinDivisor;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Shape;
import java.util.List;
import java.util.Optional;

/** Writes requests as bytes and reads them back. */
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

    static void write(MessageWriter out, Request request) {
        KINDS.write(out, request);
    }

    static Request read(MessageReader in) {
        return KINDS.read(in);
    }

    static void write(MessageWriter out, Allreduce request) {
        out.writeText(request.name());
        write(out, request.payload());
        write(out, request.how());
        write(out, request.group());
    }

    static Allreduce readAllreduce(MessageReader in) {
        return new Allreduce(in.readText(), readPayload(in), readReduction(in), readGroup(in));
    }

    private static void write(MessageWriter out, Reducescatter request) {
        out.writeText(request.name());
        write(out, request.payload());
        write(out, request.how());
        write(out, request.group());
    }

    private static Reducescatter readReducescatter(MessageReader in) {
        return new Reducescatter(in.readText(), readPayload(in), readReduction(in), readGroup(in));
    }

    private static void write(MessageWriter out, Reduce request) {
        out.writeText(request.name());
        write(out, request.payload());
        write(out, request.how());
        out.writeInt(request.root());
    }

    private static Reduce readReduce(MessageReader in) {
        return new Reduce(in.readText(), readPayload(in), readReduction(in), in.readInt());
    }

    private static void write(MessageWriter out, Allgather request) {
        out.writeText(request.name());
        write(out, request.payload());
        write(out, request.group());
    }

    private static Allgather readAllgather(MessageReader in) {
        return new Allgather(in.readText(), readPayload(in), readGroup(in));
    }

    private static void write(MessageWriter out, Gather request) {
        out.writeText(request.name());
        write(out, request.payload());
        out.writeInt(request.root());
    }

    private static Gather readGather(MessageReader in) {
        return new Gather(in.readText(), readPayload(in), in.readInt());
    }

    private static void write(MessageWriter out, Broadcast request) {
        out.writeText(request.name());
        write(out, request.payload());
        out.writeInt(request.root());
    }

    private static Broadcast readBroadcast(MessageReader in) {
        return new Broadcast(in.readText(), readPayload(in), in.readInt());
    }

    private static void write(MessageWriter out, Scatter request) {
        out.writeText(request.name());
        out.writeList(request.given().stream().toList(), RequestCodec::write);
        out.writeInt(request.root());
    }

    private static Scatter readScatter(MessageReader in) {
        String name = in.readText();
        Optional<Payload> given =
                in.readList(RequestCodec::readPayload).stream().findFirst();
        return new Scatter(name, given, in.readInt());
    }

    private static void write(MessageWriter out, Alltoall request) {
        out.writeText(request.name());
        write(out, request.payload());
        out.writeLongs(request.rows());
    }

    private static Alltoall readAlltoall(MessageReader in) {
        return new Alltoall(in.readText(), readPayload(in), in.readLongs());
    }

    private static void write(MessageWriter out, Send request) {
        out.writeText(request.name());
        write(out, request.payload());
        out.writeInt(request.peer());
    }

    private static Send readSend(MessageReader in) {
        return new Send(in.readText(), readPayload(in), in.readInt());
    }

    private static void write(MessageWriter out, Receive request) {
        out.writeText(request.name());
        write(out, request.payload());
        out.writeInt(request.peer());
    }

    private static Receive readReceive(MessageReader in) {
        return new Receive(in.readText(), readPayload(in), in.readInt());
    }

    private static void write(MessageWriter out, Barrier request) {
        out.writeText(request.name());
        out.writeLong(request.limitMillis());
    }

    private static Barrier readBarrier(MessageReader in) {
        return new Barrier(in.readText(), in.readLong());
    }

    private static void write(MessageWriter out, Join request) {
        out.writeText(request.name());
        out.writeEnum(request.divisor());
    }

    private static Join readJoin(MessageReader in) {
        return new Join(in.readText(), in.readEnum(JoinDivisor.class));
    }

    private static void write(MessageWriter out, AddProcessSet request) {
        out.writeText(request.name());
        out.writeList(request.members(), MessageWriter::writeInt);
    }

    private static AddProcessSet readAddProcessSet(MessageReader in) {
        return new AddProcessSet(in.readText(), in.readList(MessageReader::readInt));
    }

    private static void write(MessageWriter out, RemoveProcessSet request) {
        out.writeText(request.name());
        out.writeInt(request.set());
    }

    private static RemoveProcessSet readRemoveProcessSet(MessageReader in) {
        return new RemoveProcessSet(in.readText(), in.readInt());
    }

    static void write(MessageWriter out, Payload payload) {
        out.writeEnum(payload.dtype());
        out.writeByte(payload.shape().rank());
        for (long dim : payload.shape().toArray()) {
            out.writeLong(dim);
        }
        out.writeEnum(payload.device().kind());
        out.writeByte(payload.device().index());
    }

    static Payload readPayload(MessageReader in) {
        DType dtype = in.readEnum(DType.class);
        long[] dims = new long[in.readByte()];
        for (int i = 0; i < dims.length; i++) {
            dims[i] = in.readLong();
        }
        Device.Kind place = in.readEnum(Device.Kind.class);
        return new Payload(dtype, Shape.of(dims), new Device(place, in.readUnsignedByte()));
    }

    private static void write(MessageWriter out, Reduction how) {
        out.writeEnum(how.op());
        out.writeEnum(how.wire());
        out.writeDouble(how.prescale());
        out.writeDouble(how.postscale());
    }

    private static Reduction readReduction(MessageReader in) {
        return new Reduction(in.readEnum(ReduceOp.class), in.readEnum(DType.class), in.readDouble(), in.readDouble());
    }

    private static void write(MessageWriter out, Group group) {
        out.writeText(group.name());
        out.writeInt(group.members());
    }

    private static Group readGroup(MessageReader in) {
        return new Group(in.readText(), in.readInt());
    }
}
