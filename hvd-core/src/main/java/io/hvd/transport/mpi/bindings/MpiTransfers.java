package io.hvd.transport.mpi.bindings;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.spi.Abandonment;
import io.hvd.spi.Transfers;
import io.hvd.transport.mpi.MpiProgress;
import java.nio.ByteBuffer;
import mpi.Intracomm;
import mpi.MPI;
import mpi.MPIException;
import mpi.Request;

/** Transfers over a communicator. */
final class MpiTransfers implements Transfers {
    private final Intracomm comm;
    private final MpiProgress progress;
    private final Abandonment abandonment;

    MpiTransfers(Intracomm comm, MpiProgress progress, Abandonment abandonment) {
        this.comm = comm;
        this.progress = progress;
        this.abandonment = abandonment;
    }

    @Override
    public Transfer send(ByteBuffer bytes, int to, int tag) {
        // The bindings take an address from the buffer and know nothing of its position.
        ByteBuffer part = bytes.slice();
        return started("MPI_Isend", () -> comm.iSend(part, part.remaining(), MPI.BYTE, to, tag));
    }

    @Override
    public Transfer receive(ByteBuffer bytes, int from, int tag) {
        ByteBuffer part = bytes.slice();
        return started("MPI_Irecv", () -> comm.iRecv(part, part.remaining(), MPI.BYTE, from, tag));
    }

    private interface Start {
        Request run() throws MPIException;
    }

    private Transfer started(String name, Start start) {
        try {
            abandonment.check();
            progress.sent();
            Request request = start.run();
            return () -> isDone(name, request);
        } catch (MPIException e) {
            throw failed(name, e);
        }
    }

    private boolean isDone(String name, Request request) {
        abandonment.check();
        try {
            return request.test();
        } catch (MPIException e) {
            throw failed(name, e);
        }
    }

    private static HvdException failed(String name, MPIException cause) {
        return new HvdException(ErrorId.BACK_END, name + " failed: " + cause.getMessage(), cause);
    }
}
