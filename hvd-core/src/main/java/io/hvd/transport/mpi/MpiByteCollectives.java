package io.hvd.transport.mpi;

import io.hvd.spi.Abandonment;
import io.hvd.spi.Activities;
import io.hvd.spi.ByteCollectives;
import io.hvd.tensor.DType;
import io.hvd.tensor.ReduceOp;
import io.hvd.transport.mpi.calls.MpiCommunicator;
import java.nio.ByteBuffer;

/** MPI's blocking collectives over one communicator. Activities have Horovod's names: those of the calls, in capitals. */
final class MpiByteCollectives implements ByteCollectives {
    private static final int TRANSFER_TAG = 7;

    private final MpiCommunicator comm;
    private final int rank;
    private final Operators operators;
    private final MpiProgress progress;
    private final Abandonment abandonment;
    private Activities activities = Activities.UNHEARD;

    MpiByteCollectives(MpiCommunicator comm, Operators operators, MpiProgress progress, Abandonment abandonment) {
        this.comm = comm;
        this.rank = comm.rank();
        this.operators = operators;
        this.progress = progress;
        this.abandonment = abandonment;
    }

    @Override
    public void report(Activities to) {
        activities = to;
    }

    @Override
    public boolean reduces(DType type, ReduceOp op) {
        return operators.take(type, op);
    }

    @Override
    public void allreduce(ByteBuffer data, int count, DType type, ReduceOp op) {
        call("MPI_ALLREDUCE", () -> comm.allreduce(data, count, type, op));
    }

    @Override
    public void broadcast(ByteBuffer data, int bytes, int root) {
        call("MPI_BCAST", () -> comm.broadcast(data, bytes, root));
    }

    @Override
    public void allgatherInPlace(ByteBuffer data, int bytesOfEach) {
        call("MPI_ALLGATHER", () -> comm.allgather(data, bytesOfEach));
    }

    @Override
    public void allgather(ByteBuffer mine, ByteBuffer all, int[] lengths, int[] starts) {
        call("MPI_ALLGATHER", () -> comm.allgather(mine, lengths[rank], all, lengths, starts));
    }

    @Override
    public void gather(ByteBuffer mine, ByteBuffer all, int[] lengths, int[] starts, int root) {
        call("MPI_GATHER", () -> comm.gather(mine, lengths[rank], all, lengths, starts, root));
    }

    @Override
    public void scatter(ByteBuffer all, int[] lengths, int[] starts, ByteBuffer mine, int root) {
        call("MPI_SCATTER", () -> comm.scatter(all, lengths, starts, mine, lengths[rank], root));
    }

    @Override
    public void alltoall(ByteBuffer out, ByteBuffer in, int bytesOfEach) {
        call("MPI_ALLTOALL", () -> comm.alltoall(out, in, bytesOfEach));
    }

    @Override
    public void alltoall(
            ByteBuffer out, int[] outLengths, int[] outStarts, ByteBuffer in, int[] inLengths, int[] inStarts) {
        call("MPI_ALLTOALL", () -> comm.alltoall(out, outLengths, outStarts, in, inLengths, inStarts));
    }

    @Override
    public void send(ByteBuffer data, int bytes, int to) {
        call("MPI_SEND", () -> comm.sendAndWait(data, bytes, to, TRANSFER_TAG));
    }

    @Override
    public void receive(ByteBuffer data, int bytes, int from) {
        call("MPI_RECV", () -> comm.receiveAndWait(data, bytes, from, TRANSFER_TAG));
    }

    private void call(String activity, Runnable call) {
        long begun = activities.begin();
        abandonment.check();
        progress.sent();
        call.run();
        activities.end(activity, begun);
    }
}
