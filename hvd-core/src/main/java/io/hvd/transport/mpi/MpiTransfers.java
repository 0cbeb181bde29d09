package io.hvd.transport.mpi;

import io.hvd.spi.Abandonment;
import io.hvd.spi.Transfers;
import io.hvd.transport.mpi.calls.MpiCommunicator;
import io.hvd.transport.mpi.calls.MpiCommunicator.Request;
import java.nio.ByteBuffer;

/** Transfers over a communicator. */
final class MpiTransfers implements Transfers {
    private final MpiCommunicator comm;
    private final MpiProgress progress;
    private final Abandonment abandonment;

    MpiTransfers(MpiCommunicator comm, MpiProgress progress, Abandonment abandonment) {
        this.comm = comm;
        this.progress = progress;
        this.abandonment = abandonment;
    }

    @Override
    public Transfer send(ByteBuffer bytes, int to, int tag) {
        begin();
        ByteBuffer part = bytes.slice();
        return started(comm.send(part, part.remaining(), to, tag));
    }

    @Override
    public Transfer receive(ByteBuffer bytes, int from, int tag) {
        begin();
        ByteBuffer part = bytes.slice();
        return started(comm.receive(part, part.remaining(), from, tag));
    }

    @Override
    public int fastestBytes() {
        return UNASKED_BYTES;
    }

    private void begin() {
        abandonment.check();
        progress.sent();
    }

    private Transfer started(Request request) {
        return () -> {
            abandonment.check();
            return request.isDone();
        };
    }
}
