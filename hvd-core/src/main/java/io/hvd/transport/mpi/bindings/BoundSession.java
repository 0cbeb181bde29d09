package io.hvd.transport.mpi.bindings;

import io.hvd.config.HvdConfig;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.spi.Bootstrap;
import io.hvd.spi.LastBarrier;
import io.hvd.spi.Subset;
import io.hvd.spi.Transport;
import io.hvd.spi.TransportProvider.Connection;
import io.hvd.transport.mpi.MpiProcess;
import io.hvd.transport.mpi.MpiProcess.MpiSession;
import io.hvd.transport.mpi.MpiProgress;
import io.hvd.transport.mpi.ThreadLevel;
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

    /** A tag that no message has. */
    private static final int PROGRESS_TAG = 4713;

    private final ThreadLevel provided;
    /** The least number of the next job. */
    private int next;

    public BoundSession(HvdConfig config) throws MPIException {
        ThreadLevel wanted = ThreadLevel.wantedBy(config);
        this.provided = level(MPI.isInitialized() ? MPI.queryThread() : MPI.InitThread(new String[0], number(wanted)));
        ThreadLevel.require(wanted, provided, MPI.isThreadMain());
    }

    @Override
    public Connection connect(HvdConfig config, List<Integer> ranks) {
        try {
            Intracomm comm = communicator(ranks);
            MpiProgress progress = new MpiProgress(() -> callMpi(comm), System::nanoTime);
            MpiBootstrap bootstrap = new MpiBootstrap(comm, progress, next);
            next = bootstrap.generation() + 1;
            return new MpiConnection(bootstrap, new MpiTransport(comm, provided, bootstrap, progress));
        } catch (MPIException e) {
            throw new HvdException(ErrorId.INIT_FAILED, "MPI could not make a communicator: " + e, e);
        }
    }

    private record MpiConnection(Bootstrap bootstrap, Transport transport) implements Connection {
        @Override
        public void inherit(LastBarrier barrier) {
            MpiProcess.ofThisProcess().inherit(barrier, bootstrap.topology().size());
        }
    }

    /** Looks for a message that no rank sends, so that MPI moves on whatever it has under way. */
    private static void callMpi(Intracomm comm) {
        try {
            comm.iProbe(MPI.ANY_SOURCE, PROGRESS_TAG);
        } catch (MPIException e) {
            throw new HvdException(ErrorId.BACK_END, "MPI_Iprobe failed: " + e.getMessage(), e);
        }
    }

    @Override
    public int worldSize() {
        try {
            return MPI.COMM_WORLD.getSize();
        } catch (MPIException e) {
            throw new HvdException(ErrorId.BACK_END, "MPI_Comm_size failed: " + e, e);
        }
    }

    @Override
    public void finish() {
        try {
            MPI.Finalize();
        } catch (MPIException e) {
            throw new HvdException(ErrorId.BACK_END, "MPI_Finalize failed: " + e, e);
        }
    }

    @Override
    public void abort(int exitCode) {
        try {
            MPI.COMM_WORLD.abort(exitCode);
        } catch (MPIException e) {
            throw new HvdException(ErrorId.BACK_END, "MPI_Abort failed: " + e, e);
        }
    }

    private static Intracomm communicator(List<Integer> ranks) throws MPIException {
        if (ranks.isEmpty()) {
            return MPI.COMM_WORLD.dup();
        }
        Subset.require(ranks, MPI.COMM_WORLD.getRank(), MPI.COMM_WORLD.getSize());
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
