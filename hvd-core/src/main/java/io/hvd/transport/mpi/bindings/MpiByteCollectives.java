package io.hvd.transport.mpi.bindings;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.spi.Abandonment;
import io.hvd.spi.Activities;
import io.hvd.spi.ByteCollectives;
import io.hvd.tensor.DType;
import io.hvd.tensor.ReduceOp;
import io.hvd.transport.mpi.MpiProgress;
import io.hvd.transport.mpi.Operators;
import java.nio.ByteBuffer;
import mpi.Intracomm;
import mpi.MPI;
import mpi.MPIException;

/** MPI's blocking collectives over one communicator. Activities have Horovod's names: those of the calls, in capitals. */
final class MpiByteCollectives implements ByteCollectives {
    private static final int TRANSFER_TAG = 7;

    private final Intracomm comm;
    private final int rank;
    private final Operators operators;
    private final MpiProgress progress;
    private final Abandonment abandonment;
    private Activities activities = Activities.UNHEARD;

    MpiByteCollectives(Intracomm comm, Operators operators, MpiProgress progress, Abandonment abandonment)
            throws MPIException {
        this.comm = comm;
        this.rank = comm.getRank();
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
        call("MPI_ALLREDUCE", () -> comm.allReduce(data, count, MpiOperator.datatype(type), MpiOperator.op(op)));
    }

    @Override
    public void broadcast(ByteBuffer data, int bytes, int root) {
        call("MPI_BCAST", () -> comm.bcast(data, bytes, MPI.BYTE, root));
    }

    @Override
    public void allgatherInPlace(ByteBuffer data, int bytesOfEach) {
        call("MPI_ALLGATHER", () -> comm.allGather(data, bytesOfEach, MPI.BYTE));
    }

    @Override
    public void allgather(ByteBuffer mine, ByteBuffer all, int[] lengths, int[] starts) {
        call("MPI_ALLGATHER", () -> comm.allGatherv(mine, lengths[rank], MPI.BYTE, all, lengths, starts, MPI.BYTE));
    }

    @Override
    public void gather(ByteBuffer mine, ByteBuffer all, int[] lengths, int[] starts, int root) {
        call("MPI_GATHER", () -> comm.gatherv(mine, lengths[rank], MPI.BYTE, all, lengths, starts, MPI.BYTE, root));
    }

    @Override
    public void scatter(ByteBuffer all, int[] lengths, int[] starts, ByteBuffer mine, int root) {
        call("MPI_SCATTER", () -> comm.scatterv(all, lengths, starts, MPI.BYTE, mine, lengths[rank], MPI.BYTE, root));
    }

    @Override
    public void alltoall(ByteBuffer out, ByteBuffer in, int bytesOfEach) {
        call("MPI_ALLTOALL", () -> comm.allToAll(out, bytesOfEach, MPI.BYTE, in, bytesOfEach, MPI.BYTE));
    }

    @Override
    public void alltoall(
            ByteBuffer out, int[] outLengths, int[] outStarts, ByteBuffer in, int[] inLengths, int[] inStarts) {
        call(
                "MPI_ALLTOALL",
                () -> comm.allToAllv(out, outLengths, outStarts, MPI.BYTE, in, inLengths, inStarts, MPI.BYTE));
    }

    @Override
    public void send(ByteBuffer data, int bytes, int to) {
        call("MPI_SEND", () -> comm.send(data, bytes, MPI.BYTE, to, TRANSFER_TAG));
    }

    @Override
    public void receive(ByteBuffer data, int bytes, int from) {
        call("MPI_RECV", () -> comm.recv(data, bytes, MPI.BYTE, from, TRANSFER_TAG));
    }

    private interface Call {
        void run() throws MPIException;
    }

    private void call(String activity, Call call) {
        long begun = activities.begin();
        try {
            abandonment.check();
            progress.sent();
            call.run();
            activities.end(activity, begun);
        } catch (MPIException e) {
            throw new HvdException(ErrorId.BACK_END, activity + " failed: " + e.getMessage(), e);
        }
    }
}
