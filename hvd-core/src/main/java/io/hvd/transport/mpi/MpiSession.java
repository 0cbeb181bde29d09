package io.hvd.transport.mpi;

import io.hvd.config.HvdConfig;
import io.hvd.spi.Bootstrap;
import io.hvd.spi.LastBarrier;
import io.hvd.spi.Subset;
import io.hvd.spi.Transport;
import io.hvd.spi.TransportProvider.Connection;
import io.hvd.transport.mpi.calls.Mpi;
import io.hvd.transport.mpi.calls.MpiCommunicator;
import io.hvd.transport.mpi.calls.ThreadLevel;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/**
 * The use of MPI by this process, from MPI_Init_thread to MPI_Finalize; made once per process, used on the communication
 * thread.
 */
final class MpiSession {
    /** The tag that MPI_Comm_create_group needs all members to share; hvd uses it for nothing else. */
    private static final int GROUP_TAG = 4711;

    /** A tag that no message has. */
    private static final int PROGRESS_TAG = 4713;

    private final Mpi mpi;
    private final ThreadLevel provided;
    private final SubsetMeeting meeting;
    /** The least number of the next job. */
    private int next;

    /** @param stuck hears that MPI_Init does not return */
    MpiSession(Mpi mpi, HvdConfig config, CompletableFuture<Object> stuck) {
        this.mpi = mpi;
        ThreadLevel wanted = ThreadLevel.wantedBy(config);
        this.provided = mpi.isInitialized()
                ? mpi.provided()
                : UnstartedRanks.limit(
                        () -> mpi.initialize(wanted),
                        Duration.ofSeconds(config.control().startTimeoutSeconds()),
                        stuck);
        ThreadLevel.require(wanted, provided, mpi.isThreadMain());
        this.meeting = new SubsetMeeting(mpi.world());
    }

    /**
     * Makes a communicator of some ranks; empty means all.
     *
     * @param limit within which some ranks must have come
     */
    Connection connect(List<Integer> ranks, Duration limit) {
        MpiCommunicator comm = communicator(ranks, limit);
        // Looks for a message that no rank sends, so that MPI moves on whatever it has under way.
        MpiProgress progress = new MpiProgress(() -> comm.probe(PROGRESS_TAG), System::nanoTime);
        MpiBootstrap bootstrap = new MpiBootstrap(mpi, comm, progress, next);
        next = bootstrap.generation() + 1;
        return new MpiConnection(bootstrap, new MpiTransport(mpi, comm, provided, bootstrap, progress));
    }

    private record MpiConnection(Bootstrap bootstrap, Transport transport) implements Connection {
        @Override
        public void inherit(LastBarrier barrier) {
            MpiProcess.ofThisProcess().inherit(barrier, bootstrap.topology().size());
        }
    }

    private MpiCommunicator communicator(List<Integer> ranks, Duration limit) {
        MpiCommunicator world = mpi.world();
        if (ranks.isEmpty()) {
            return world.duplicate();
        }
        Subset.require(ranks, world.rank(), world.size());
        meeting.require(ranks, limit);
        return world.of(ranks.stream().mapToInt(Integer::intValue).toArray(), GROUP_TAG);
    }

    /** The loader of the classes that call MPI. */
    ClassLoader loader() {
        return mpi.getClass().getClassLoader();
    }

    /** Number of processes in MPI_COMM_WORLD. */
    int worldSize() {
        return mpi.world().size();
    }

    /** Calls MPI_Finalize; every rank of the job must call this. */
    void finish() {
        mpi.finish();
    }

    /** Calls MPI_Abort, which ends the processes of all ranks. Any thread may call it; it may not return. */
    void abort(int exitCode) {
        mpi.world().abort(exitCode);
    }
}
