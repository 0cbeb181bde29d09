package io.hvd.engine.message;

import io.hvd.engine.message.Batch.AddProcessSet;
import io.hvd.engine.message.Batch.Again;
import io.hvd.engine.message.Batch.Allgather;
import io.hvd.engine.message.Batch.Allreduce;
import io.hvd.engine.message.Batch.AllreduceOfSome;
import io.hvd.engine.message.Batch.Alltoall;
import io.hvd.engine.message.Batch.Barrier;
import io.hvd.engine.message.Batch.Broadcast;
import io.hvd.engine.message.Batch.Gather;
import io.hvd.engine.message.Batch.Join;
import io.hvd.engine.message.Batch.Reason;
import io.hvd.engine.message.Batch.Reduce;
import io.hvd.engine.message.Batch.Reducescatter;
import io.hvd.engine.message.Batch.Refusal;
import io.hvd.engine.message.Batch.RemoveProcessSet;
import io.hvd.engine.message.Batch.Scatter;
import io.hvd.engine.message.Batch.Transfer;
import io.hvd.engine.message.Plan.Op;
import io.hvd.engine.message.SealedCodec.Form;
import io.hvd.net.MessageReader;
import io.hvd.net.MessageWriter;
import java.util.List;

/**
 * Writes batches as bytes and reads them back. What the ranks' response caches know is written as a number of four
 * bytes.
 */
final class BatchCodec {
    private static final SealedCodec<Batch> KINDS = new SealedCodec<>(List.of(
            new Form<>(Allreduce.class, BatchCodec::write, BatchCodec::readAllreduce),
            new Form<>(AllreduceOfSome.class, BatchCodec::write, BatchCodec::readAllreduceOfSome),
            new Form<>(Reducescatter.class, BatchCodec::write, BatchCodec::readReducescatter),
            new Form<>(Reduce.class, BatchCodec::write, BatchCodec::readReduce),
            new Form<>(Broadcast.class, BatchCodec::write, BatchCodec::readBroadcast),
            new Form<>(Allgather.class, BatchCodec::write, BatchCodec::readAllgather),
            new Form<>(Gather.class, BatchCodec::write, BatchCodec::readGather),
            new Form<>(Scatter.class, BatchCodec::write, BatchCodec::readScatter),
            new Form<>(Alltoall.class, BatchCodec::write, BatchCodec::readAlltoall),
            new Form<>(Transfer.class, BatchCodec::write, BatchCodec::readTransfer),
            new Form<>(Barrier.class, BatchCodec::write, BatchCodec::readBarrier),
            new Form<>(Join.class, BatchCodec::write, BatchCodec::readJoin),
            new Form<>(AddProcessSet.class, BatchCodec::write, BatchCodec::readAddProcessSet),
            new Form<>(RemoveProcessSet.class, BatchCodec::write, BatchCodec::readRemoveProcessSet),
            new Form<>(Again.class, BatchCodec::write, BatchCodec::readAgain),
            new Form<>(Refusal.class, BatchCodec::write, BatchCodec::readRefusal)));

    private BatchCodec() {}

    static void write(MessageWriter out, Batch batch) {
        KINDS.write(out, batch);
    }

    static Batch read(MessageReader in) {
        return KINDS.read(in);
    }

    private static void write(MessageWriter out, Allreduce batch) {
        out.writeList(batch.ops(), BatchCodec::write);
        out.writeInt(batch.divisor());
    }

    private static Allreduce readAllreduce(MessageReader in) {
        return new Allreduce(in.readList(BatchCodec::readOp), in.readInt());
    }

    private static void write(MessageWriter out, AllreduceOfSome batch) {
        out.writeList(batch.asked(), RequestCodec::write);
        out.writeInt(batch.divisor());
    }

    private static AllreduceOfSome readAllreduceOfSome(MessageReader in) {
        return new AllreduceOfSome(in.readList(RequestCodec::readAllreduce), in.readInt());
    }

    private static void write(MessageWriter out, Reducescatter batch) {
        out.writeText(batch.name());
        out.writeInt(batch.divisor());
        out.writeBoolean(batch.remember());
    }

    private static Reducescatter readReducescatter(MessageReader in) {
        return new Reducescatter(in.readText(), in.readInt(), in.readBoolean());
    }

    private static void write(MessageWriter out, Reduce batch) {
        out.writeText(batch.name());
        out.writeInt(batch.divisor());
    }

    private static Reduce readReduce(MessageReader in) {
        return new Reduce(in.readText(), in.readInt());
    }

    private static void write(MessageWriter out, Broadcast batch) {
        out.writeList(batch.names(), MessageWriter::writeText);
    }

    private static Broadcast readBroadcast(MessageReader in) {
        return new Broadcast(in.readList(MessageReader::readText));
    }

    private static void write(MessageWriter out, Allgather batch) {
        out.writeText(batch.name());
        out.writeLongs(batch.rows());
        out.writeBoolean(batch.remember());
    }

    private static Allgather readAllgather(MessageReader in) {
        return new Allgather(in.readText(), in.readLongs(), in.readBoolean());
    }

    private static void write(MessageWriter out, Gather batch) {
        out.writeText(batch.name());
        out.writeLongs(batch.rows());
    }

    private static Gather readGather(MessageReader in) {
        return new Gather(in.readText(), in.readLongs());
    }

    private static void write(MessageWriter out, Scatter batch) {
        out.writeText(batch.name());
        RequestCodec.write(out, batch.given());
    }

    private static Scatter readScatter(MessageReader in) {
        return new Scatter(in.readText(), RequestCodec.readPayload(in));
    }

    private static void write(MessageWriter out, Alltoall batch) {
        out.writeText(batch.name());
        out.writeList(batch.rows(), MessageWriter::writeLongs);
        out.writeBoolean(batch.remember());
    }

    private static Alltoall readAlltoall(MessageReader in) {
        return new Alltoall(in.readText(), in.readList(MessageReader::readLongs), in.readBoolean());
    }

    private static void write(MessageWriter out, Transfer batch) {
        out.writeText(batch.name());
    }

    private static Transfer readTransfer(MessageReader in) {
        return new Transfer(in.readText());
    }

    private static void write(MessageWriter out, Barrier batch) {
        out.writeText(batch.name());
    }

    private static Barrier readBarrier(MessageReader in) {
        return new Barrier(in.readText());
    }

    private static void write(MessageWriter out, Join batch) {
        out.writeText(batch.name());
        out.writeInt(batch.last());
    }

    private static Join readJoin(MessageReader in) {
        return new Join(in.readText(), in.readInt());
    }

    private static void write(MessageWriter out, AddProcessSet batch) {
        out.writeText(batch.name());
        out.writeInt(batch.set());
        out.writeList(batch.members(), MessageWriter::writeInt);
    }

    private static AddProcessSet readAddProcessSet(MessageReader in) {
        return new AddProcessSet(in.readText(), in.readInt(), in.readList(MessageReader::readInt));
    }

    private static void write(MessageWriter out, RemoveProcessSet batch) {
        out.writeText(batch.name());
        out.writeInt(batch.set());
    }

    private static RemoveProcessSet readRemoveProcessSet(MessageReader in) {
        return new RemoveProcessSet(in.readText(), in.readInt());
    }

    private static void write(MessageWriter out, Again batch) {
        out.writeInt(batch.number());
    }

    private static Again readAgain(MessageReader in) {
        return new Again(in.readInt());
    }

    private static void write(MessageWriter out, Refusal batch) {
        out.writeText(batch.name());
        out.writeEnum(batch.reason());
        out.writeText(batch.error());
        out.writeList(batch.askers(), MessageWriter::writeInt);
    }

    private static Refusal readRefusal(MessageReader in) {
        return new Refusal(
                in.readText(), in.readEnum(Reason.class), in.readText(), in.readList(MessageReader::readInt));
    }

    private static void write(MessageWriter out, Op op) {
        out.writeInt(op.number());
        if (!op.isKnown()) {
            out.writeText(op.name());
        }
    }

    /** Leaves out the name of a known operation, which the rank's own response cache has. */
    private static Op readOp(MessageReader in) {
        int number = in.readInt();
        return new Op(number == Op.UNKNOWN ? in.readText() : "", number);
    }
}
