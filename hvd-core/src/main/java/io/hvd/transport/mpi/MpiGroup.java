package io.hvd.transport.mpi;

import io.hvd.spi.Abandonment;
import io.hvd.spi.ByteCollectives;
import io.hvd.spi.Transfers;
import io.hvd.spi.Transport;
import io.hvd.transport.mpi.calls.MpiCommunicator;
import java.util.Optional;

/** The members of a communicator. */
final class MpiGroup implements Transport.Group {
    private final MpiCommunicator comm;
    private final boolean owned;
    private final MpiTransfers transfers;
    private final MpiByteCollectives collectives;

    /** @param owned whether the communicator belongs to this group, and ends with it */
    MpiGroup(MpiCommunicator comm, boolean owned, Operators operators, MpiProgress progress, Abandonment abandonment) {
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
        if (owned) {
            comm.free();
        }
    }
}
