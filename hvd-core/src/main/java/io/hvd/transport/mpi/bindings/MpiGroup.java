package io.hvd.transport.mpi.bindings;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.spi.ByteCollectives;
import io.hvd.spi.Transfers;
import io.hvd.spi.Transport;
import io.hvd.transport.mpi.MpiProgress;
import io.hvd.transport.mpi.Operators;
import java.util.Optional;
import mpi.Intracomm;
import mpi.MPIException;

/** The members of a communicator of its own. */
final class MpiGroup implements Transport.Group {
    private final Intracomm comm;
    private final MpiTransfers transfers;
    private final MpiByteCollectives collectives;

    MpiGroup(Intracomm comm, Operators operators, MpiProgress progress) throws MPIException {
        this.comm = comm;
        this.transfers = new MpiTransfers(comm, progress);
        this.collectives = new MpiByteCollectives(comm, operators, progress);
    }

    @Override
    public Transfers transfers() {
        return transfers;
    }

    @Override
    public Optional<ByteCollectives> collectives() {
        return Optional.of(collectives);
    }

    @Override
    public void close() {
        try {
            comm.free();
        } catch (MPIException e) {
            throw new HvdException(ErrorId.BACK_END, "MPI_Comm_free failed: " + e.getMessage(), e);
        }
    }
}
