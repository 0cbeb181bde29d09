package io.hvd.engine;

import static io.hvd.engine.PlanCodec.readList;
import static io.hvd.engine.PlanCodec.readLongs;
import static io.hvd.engine.PlanCodec.readText;
import static io.hvd.engine.PlanCodec.writeList;
import static io.hvd.engine.PlanCodec.writeLongs;
import static io.hvd.engine.PlanCodec.writeText;

import io.hvd.engine.Batch.AddProcessSet;
import io.hvd.engine.Batch.Again;
import io.hvd.engine.Batch.Allgather;
import io.hvd.engine.Batch.Allreduce;
import io.hvd.engine.Batch.AllreduceOfSome;
import io.hvd.engine.Batch.Alltoall;
import io.hvd.engine.Batch.Barrier;
import io.hvd.engine.Batch.Broadcast;
import io.hvd.engine.Batch.Gather;
import io.hvd.engine.Batch.Join;
import io.hvd.engine.Batch.Reason;
import io.hvd.engine.Batch.Reduce;
import io.hvd.engine.Batch.Reducescatter;
import io.hvd.engine.Batch.Refusal;
import io.hvd.engine.Batch.RemoveProcessSet;
import io.hvd.engine.Batch.Scatter;
import io.hvd.engine.Batch.Transfer;
import io.hvd.engine.Plan.Op;
import io.hvd.engine.SealedCodec.Form;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.util.List;

/** Batches as bytes. What the response caches of the ranks know travels as a number of four bytes. */
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

    static void write(DataOutputStream out, Batch batch) throws IOException {
        KINDS.write(out, batch);
    }

    static Batch read(DataInputStream in) throws IOException {
        return KINDS.read(in);
    }

    private static void write(DataOutputStream out, Allreduce batch) throws IOException {
        writeList(out, batch.ops(), BatchCodec::write);
        out.writeInt(batch.divisor());
    }

    private static Allreduce readAllreduce(DataInputStream in) throws IOException {
        return new Allreduce(readList(in, BatchCodec::readOp), in.readInt());
    }

    private static void write(DataOutputStream out, AllreduceOfSome batch) throws IOException {
        writeList(out, batch.asked(), RequestCodec::write);
        out.writeInt(batch.divisor());
    }

    private static AllreduceOfSome readAllreduceOfSome(DataInputStream in) throws IOException {
        return new AllreduceOfSome(readList(in, RequestCodec::readAllreduce), in.readInt());
    }

    private static void write(DataOutputStream out, Reducescatter batch) throws IOException {
        writeText(out, batch.name());
        out.writeInt(batch.divisor());
        out.writeBoolean(batch.remember());
    }

    private static Reducescatter readReducescatter(DataInputStream in) throws IOException {
        return new Reducescatter(readText(in), in.readInt(), in.readBoolean());
    }

    private static void write(DataOutputStream out, Reduce batch) throws IOException {
        writeText(out, batch.name());
        out.writeInt(batch.divisor());
    }

    private static Reduce readReduce(DataInputStream in) throws IOException {
        return new Reduce(readText(in), in.readInt());
    }

    private static void write(DataOutputStream out, Broadcast batch) throws IOException {
        writeList(out, batch.names(), PlanCodec::writeText);
    }

    private static Broadcast readBroadcast(DataInputStream in) throws IOException {
        return new Broadcast(readList(in, PlanCodec::readText));
    }

    private static void write(DataOutputStream out, Allgather batch) throws IOException {
        writeText(out, batch.name());
        writeLongs(out, batch.rows());
        out.writeBoolean(batch.remember());
    }

    private static Allgather readAllgather(DataInputStream in) throws IOException {
        return new Allgather(readText(in), readLongs(in), in.readBoolean());
    }

    private static void write(DataOutputStream out, Gather batch) throws IOException {
        writeText(out, batch.name());
        writeLongs(out, batch.rows());
    }

    private static Gather readGather(DataInputStream in) throws IOException {
        return new Gather(readText(in), readLongs(in));
    }

    private static void write(DataOutputStream out, Scatter batch) throws IOException {
        writeText(out, batch.name());
        RequestCodec.write(out, batch.given());
    }

    private static Scatter readScatter(DataInputStream in) throws IOException {
        return new Scatter(readText(in), RequestCodec.readPayload(in));
    }

    private static void write(DataOutputStream out, Alltoall batch) throws IOException {
        writeText(out, batch.name());
        writeList(out, batch.rows(), PlanCodec::writeLongs);
        out.writeBoolean(batch.remember());
    }

    private static Alltoall readAlltoall(DataInputStream in) throws IOException {
        return new Alltoall(readText(in), readList(in, PlanCodec::readLongs), in.readBoolean());
    }

    private static void write(DataOutputStream out, Transfer batch) throws IOException {
        writeText(out, batch.name());
    }

    private static Transfer readTransfer(DataInputStream in) throws IOException {
        return new Transfer(readText(in));
    }

    private static void write(DataOutputStream out, Barrier batch) throws IOException {
        writeText(out, batch.name());
    }

    private static Barrier readBarrier(DataInputStream in) throws IOException {
        return new Barrier(readText(in));
    }

    private static void write(DataOutputStream out, Join batch) throws IOException {
        writeText(out, batch.name());
        out.writeInt(batch.last());
    }

    private static Join readJoin(DataInputStream in) throws IOException {
        return new Join(readText(in), in.readInt());
    }

    private static void write(DataOutputStream out, AddProcessSet batch) throws IOException {
        writeText(out, batch.name());
        out.writeInt(batch.set());
        writeList(out, batch.members(), DataOutputStream::writeInt);
    }

    private static AddProcessSet readAddProcessSet(DataInputStream in) throws IOException {
        return new AddProcessSet(readText(in), in.readInt(), readList(in, DataInputStream::readInt));
    }

    private static void write(DataOutputStream out, RemoveProcessSet batch) throws IOException {
        writeText(out, batch.name());
        out.writeInt(batch.set());
    }

    private static RemoveProcessSet readRemoveProcessSet(DataInputStream in) throws IOException {
        return new RemoveProcessSet(readText(in), in.readInt());
    }

    private static void write(DataOutputStream out, Again batch) throws IOException {
        out.writeInt(batch.number());
    }

    private static Again readAgain(DataInputStream in) throws IOException {
        return new Again(in.readInt());
    }

    private static void write(DataOutputStream out, Refusal batch) throws IOException {
        writeText(out, batch.name());
        out.writeByte(batch.reason().ordinal());
        writeText(out, batch.error());
        writeList(out, batch.askers(), DataOutputStream::writeInt);
    }

    private static Refusal readRefusal(DataInputStream in) throws IOException {
        return new Refusal(
                readText(in), Reason.of(in.readByte()), readText(in), readList(in, DataInputStream::readInt));
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
}
