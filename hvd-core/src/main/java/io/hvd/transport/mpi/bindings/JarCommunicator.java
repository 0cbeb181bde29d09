package io.hvd.transport.mpi.bindings;

import static io.hvd.transport.mpi.bindings.JarMpi.result;
import static io.hvd.transport.mpi.bindings.JarMpi.run;

import io.hvd.tensor.DType;
import io.hvd.tensor.ReduceOp;
import io.hvd.transport.mpi.calls.MpiCommunicator;
import java.nio.ByteBuffer;
import mpi.Group;
import mpi.Intracomm;
import mpi.MPI;

/** A communicator of Open MPI's Java bindings. */
record JarCommunicator(Intracomm comm) implements MpiCommunicator {
    @Override
    public int rank() {
        return result("MPI_Comm_rank", comm::getRank);
    }

    @Override
    public int size() {
        return result("MPI_Comm_size", comm::getSize);
    }

    @Override
    public MpiCommunicator duplicate() {
        return new JarCommunicator(result("MPI_Comm_dup", comm::dup));
    }

    @Override
    public MpiCommunicator of(int[] ranks, int tag) {
        return new JarCommunicator(result("MPI_Comm_create_group", () -> {
            Group all = comm.getGroup();
            Group some = all.incl(ranks);
            Intracomm theirs = comm.createGroup(some, tag);
            some.free();
            all.free();
            return theirs;
        }));
    }

    @Override
    public void free() {
        run("MPI_Comm_free", comm::free);
    }

    @Override
    public void abort(int exitCode) {
        run("MPI_Abort", () -> comm.abort(exitCode));
    }

    @Override
    public void probe(int tag) {
        run("MPI_Iprobe", () -> comm.iProbe(MPI.ANY_SOURCE, tag));
    }

    @Override
    public Request send(ByteBuffer data, int bytes, int to, int tag) {
        return new Started("MPI_Isend", result("MPI_Isend", () -> comm.iSend(data, bytes, MPI.BYTE, to, tag)));
    }

    @Override
    public Request receive(ByteBuffer data, int bytes, int from, int tag) {
        return new Started("MPI_Irecv", result("MPI_Irecv", () -> comm.iRecv(data, bytes, MPI.BYTE, from, tag)));
    }

    private record Started(String function, mpi.Request request) implements Request {
        @Override
        public boolean isDone() {
            return result(function, request::test);
        }
    }

    @Override
    public void allreduce(ByteBuffer data, int count, DType type, ReduceOp op) {
        run("MPI_Allreduce", () -> comm.allReduce(data, count, JarMpi.datatype(type), JarMpi.op(op)));
    }

    @Override
    public void broadcast(ByteBuffer data, int bytes, int root) {
        run("MPI_Bcast", () -> comm.bcast(data, bytes, MPI.BYTE, root));
    }

    @Override
    public void allgather(ByteBuffer data, int bytesOfEach) {
        run("MPI_Allgather", () -> comm.allGather(data, bytesOfEach, MPI.BYTE));
    }

    @Override
    public void allgather(ByteBuffer mine, int bytes, ByteBuffer all, int[] lengths, int[] starts) {
        run("MPI_Allgatherv", () -> comm.allGatherv(mine, bytes, MPI.BYTE, all, lengths, starts, MPI.BYTE));
    }

    @Override
    public void gather(ByteBuffer mine, int bytes, ByteBuffer all, int[] lengths, int[] starts, int root) {
        run("MPI_Gatherv", () -> comm.gatherv(mine, bytes, MPI.BYTE, all, lengths, starts, MPI.BYTE, root));
    }

    @Override
    public void scatter(ByteBuffer all, int[] lengths, int[] starts, ByteBuffer mine, int bytes, int root) {
        run("MPI_Scatterv", () -> comm.scatterv(all, lengths, starts, MPI.BYTE, mine, bytes, MPI.BYTE, root));
    }

    @Override
    public void alltoall(ByteBuffer out, ByteBuffer in, int bytesOfEach) {
        run("MPI_Alltoall", () -> comm.allToAll(out, bytesOfEach, MPI.BYTE, in, bytesOfEach, MPI.BYTE));
    }

    @Override
    public void alltoall(
            ByteBuffer out, int[] outLengths, int[] outStarts, ByteBuffer in, int[] inLengths, int[] inStarts) {
        run(
                "MPI_Alltoallv",
                () -> comm.allToAllv(out, outLengths, outStarts, MPI.BYTE, in, inLengths, inStarts, MPI.BYTE));
    }

    @Override
    public void sendAndWait(ByteBuffer data, int bytes, int to, int tag) {
        run("MPI_Send", () -> comm.send(data, bytes, MPI.BYTE, to, tag));
    }

    @Override
    public void receiveAndWait(ByteBuffer data, int bytes, int from, int tag) {
        run("MPI_Recv", () -> comm.recv(data, bytes, MPI.BYTE, from, tag));
    }
}
