package io.hvd.backend.mpi.bindings;

import io.hvd.buffer.BufferLedger;
import io.hvd.buffer.BufferLedger.Owner;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.spi.Activities;
import io.hvd.tensor.DType;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Locale;
import mpi.Intracomm;
import mpi.MPIException;

/** A communicator with the two staging buffers through which host tensors stream, small enough to stay in cache. */
final class Stage {
    /** One spare element per rank: slices are padded to equal length, and a veto takes one more. */
    private static final int SPARE_BYTES_PER_RANK = 8;

    final Intracomm comm;
    final int rank;
    final int size;
    final ByteBuffer front;
    /** The second buffer, for operations that MPI cannot do in place. */
    final ByteBuffer back;

    /** Receives every MPI call and every copy. */
    Activities activities = Activities.UNHEARD;

    private final MpiProgress progress;
    private final int bytes;

    Stage(Intracomm comm, int stageBytes, MpiProgress progress) throws MPIException {
        this(comm, comm.getRank(), comm.getSize(), stageBytes, progress);
    }

    /** @param comm null where MPI is not called; {@code progress} is null then as well */
    Stage(Intracomm comm, int rank, int size, int stageBytes, MpiProgress progress) {
        this.progress = progress;
        this.comm = comm;
        this.rank = rank;
        this.size = size;
        this.bytes = stageBytes;
        this.front = direct(stageBytes + SPARE_BYTES_PER_RANK * (size + 1));
        this.back = direct(stageBytes + SPARE_BYTES_PER_RANK * (size + 1));
    }

    /** Number of elements that the stage holds at once. */
    int chunk(DType type) {
        return bytes / type.bytes();
    }

    /** Number of elements that each rank may have on the stage when those of all ranks lie there side by side. */
    int share(DType type) {
        return Math.max(1, chunk(type) / size);
    }

    /** Whether the stage holds so many elements for each rank at once. */
    boolean holds(long longest, DType type) {
        return longest <= share(type);
    }

    static ByteBuffer part(ByteBuffer buffer, int from, int bytes) {
        return buffer.slice(from, bytes).order(ByteOrder.nativeOrder());
    }

    private static ByteBuffer direct(int bytes) {
        return BufferLedger.PROCESS.direct(Owner.MPI, bytes);
    }

    void call(String name, Call call) {
        long begun = activities.begin();
        try {
            progress.sent();
            call.run();
            if (begun != 0) {
                activities.end(activity(name), begun);
            }
        } catch (MPIException e) {
            throw new HvdException(ErrorId.BACK_END, name + " failed: " + e.getMessage(), e);
        }
    }

    /** Horovod's name for an MPI call, in capitals; a call with counts per rank has the same name. */
    private static String activity(String call) {
        boolean counted = call.endsWith("v") && !call.equals("MPI_Recv");
        return (counted ? call.substring(0, call.length() - 1) : call).toUpperCase(Locale.ROOT);
    }

    /** Carries out a copy between tensors and stage, and records it. */
    void copy(String name, Runnable copy) {
        long begun = activities.begin();
        copy.run();
        activities.end(name, begun);
    }

    interface Call {
        void run() throws MPIException;
    }
}
