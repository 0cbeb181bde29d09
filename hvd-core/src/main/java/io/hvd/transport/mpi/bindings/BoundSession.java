package io.hvd.transport.mpi.bindings;

import io.hvd.config.HvdConfig;
import io.hvd.control.FinalBarrier;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.spi.Backend;
import io.hvd.transport.mpi.MpiProvider.MpiSession;
import io.hvd.transport.mpi.ThreadLevel;
import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;
import mpi.Group;
import mpi.Intracomm;
import mpi.MPI;
import mpi.MPIException;

/** The use of MPI by this process, from MPI_Init_thread to MPI_Finalize. */
public final class BoundSession implements MpiSession {
    /** The tag that createGroup needs all members to share; hvd uses it for nothing else. */
    private static final int GROUP_TAG = 4711;

    private final ThreadLevel provided;
    /** Null until a back end of all ranks of the job has been closed. */
    private FinalBarrier finalBarrier;

    public BoundSession(HvdConfig config) throws MPIException {
        ThreadLevel wanted = ThreadLevel.wantedBy(config);
        this.provided = level(MPI.isInitialized() ? MPI.queryThread() : MPI.InitThread(new String[0], number(wanted)));
        ThreadLevel.require(wanted, provided, MPI.isThreadMain());
    }

    @Override
    public Backend open(HvdConfig config, List<Integer> ranks) {
        try {
            return new BoundBackend(communicator(ranks), provided, config, this::keep);
        } catch (MPIException e) {
            throw new HvdException(ErrorId.INIT_FAILED, "MPI could not make a communicator: " + e, e);
        }
    }

    /** Keeps the final barrier of the first back end of all ranks of the job, for the end of MPI. */
    private void keep(FinalBarrier ofBackend, int size) throws MPIException {
        if (finalBarrier == null && size == MPI.COMM_WORLD.getSize()) {
            finalBarrier = ofBackend;
        } else {
            ofBackend.close();
        }
    }

    @Override
    public boolean meet() {
        return finalBarrier != null && finalBarrier.meet();
    }

    @Override
    public boolean leave(boolean well, boolean waits, Duration limit) {
        if (finalBarrier == null) {
            return false;
        }
        if (well && waits) {
            return finalBarrier.meet();
        }
        finalBarrier.leave(well, limit);
        return false;
    }

    @Override
    public void finish() {
        try {
            MPI.Finalize();
        } catch (MPIException e) {
            throw new HvdException(ErrorId.BACK_END, "MPI_Finalize failed: " + e, e);
        }
    }

    private static Intracomm communicator(List<Integer> ranks) throws MPIException {
        if (ranks.isEmpty()) {
            return MPI.COMM_WORLD.dup();
        }
        int world = MPI.COMM_WORLD.getSize();
        int self = MPI.COMM_WORLD.getRank();
        for (int rank : ranks) {
            if (rank < 0 || rank >= world) {
                throw new HvdException(
                        ErrorId.BAD_ARGUMENT,
                        "init for ranks " + ranks + ": rank " + rank + " is not in [0, " + (world - 1) + "]");
            }
        }
        if (!ranks.contains(self)) {
            throw new HvdException(
                    ErrorId.BAD_ARGUMENT,
                    "init for ranks " + ranks + " was called on rank " + self + ", which is not among them");
        }
        Group group = MPI.COMM_WORLD
                .getGroup()
                .incl(ranks.stream().mapToInt(Integer::intValue).toArray());
        return MPI.COMM_WORLD.createGroup(group, GROUP_TAG);
    }

    private static int number(ThreadLevel level) {
        return switch (level) {
            case SINGLE -> MPI.THREAD_SINGLE;
            case FUNNELED -> MPI.THREAD_FUNNELED;
            case SERIALIZED -> MPI.THREAD_SERIALIZED;
            case MULTIPLE -> MPI.THREAD_MULTIPLE;
        };
    }

    private static ThreadLevel level(int number) {
        return Stream.of(ThreadLevel.values())
                .filter(level -> number(level) == number)
                .findFirst()
                .orElseThrow();
    }
}
