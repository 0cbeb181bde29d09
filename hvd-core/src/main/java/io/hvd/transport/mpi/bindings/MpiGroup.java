package io.hvd.transport.mpi.bindings;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.spi.Abandonment;
import io.hvd.spi.ByteCollectives;
import io.hvd.spi.Transfers;
import io.hvd.spi.Transport;
import io.hvd.transport.mpi.MpiProgress;
import io.hvd.transport.mpi.Operators;
import java.util.Optional;
import mpi.Intracomm;
import mpi.MPIException;

/** The members of a communicator. */
final class MpiGroup implements Transport.Group {
    private final Intracomm comm;
    private final boolean owned;
    private final MpiTransfers transfers;
    private final MpiByteCollectives collectives;

    /** @param owned whether the communicator belongs to this group, and ends with it */
    MpiGroup(Intracomm comm, boolean owned, Operators operators, MpiProgress progress, Abandonment abandonment)
            throws MPIException {
        this.comm = comm;
        this.owned = owned;
        this.transfers = new MpiTransfers(comm, progress, abandonment);
        this.collectives = new MpiByteCollectives(comm, operators, progress, abandonment);
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
            if (owned) {
                comm.free();
            }
        } catch (MPIException e) {
            throw new HvdException(ErrorId.BACK_END, "MPI_Comm_free failed: " + e.getMessage(), e);
        }
    }
}
