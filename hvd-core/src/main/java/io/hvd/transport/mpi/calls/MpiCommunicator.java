package io.hvd.transport.mpi.calls;

import io.hvd.tensor.DType;
import io.hvd.tensor.ReduceOp;
import java.nio.ByteBuffer;

/** A communicator; what {@link Mpi} says of errors and buffers holds here too. Lengths and starts are in bytes, by rank. */
public interface MpiCommunicator {
    int rank();

    int size();

    /** MPI_Comm_dup. */
    MpiCommunicator duplicate();

    /**
     * MPI_Comm_create_group: only its members make this call.
     *
     * @param ranks the members, in the order in which the new communicator numbers them
     */
    MpiCommunicator of(int[] ranks, int tag);

    /** MPI_Comm_free. */
    void free();

    /** MPI_Abort; it may not return. */
    void abort(int exitCode);

    /** MPI_Iprobe for a message with this tag from any rank, by which MPI moves on what it has under way. */
    void probe(int tag);

    /** MPI_Isend. */
    Request send(ByteBuffer data, int bytes, int to, int tag);

    /** MPI_Irecv. */
    Request receive(ByteBuffer data, int bytes, int from, int tag);

    /** A transfer that has been started. */
    interface Request {
        /** MPI_Test; once it is done, it stays so. */
        boolean isDone();
    }

    /** MPI_Allreduce in place. */
    void allreduce(ByteBuffer data, int count, DType type, ReduceOp op);

    /** MPI_Bcast. */
    void broadcast(ByteBuffer data, int bytes, int root);

    /** MPI_Allgather in place. */
    void allgather(ByteBuffer data, int bytesOfEach);

    /** MPI_Allgatherv. */
    void allgather(ByteBuffer mine, int bytes, ByteBuffer all, int[] lengths, int[] starts);

    /** MPI_Gatherv. */
    void gather(ByteBuffer mine, int bytes, ByteBuffer all, int[] lengths, int[] starts, int root);

    /** MPI_Scatterv. */
    void scatter(ByteBuffer all, int[] lengths, int[] starts, ByteBuffer mine, int bytes, int root);

    /** MPI_Alltoall. */
    void alltoall(ByteBuffer out, ByteBuffer in, int bytesOfEach);

    /** MPI_Alltoallv. */
    void alltoall(ByteBuffer out, int[] outLengths, int[] outStarts, ByteBuffer in, int[] inLengths, int[] inStarts);

    /** MPI_Send. */
    void sendAndWait(ByteBuffer data, int bytes, int to, int tag);

    /** MPI_Recv. */
    void receiveAndWait(ByteBuffer data, int bytes, int from, int tag);
}
