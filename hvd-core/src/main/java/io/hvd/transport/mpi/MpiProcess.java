package io.hvd.transport.mpi;

import io.hvd.config.HvdConfig;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.log.HvdLogger;
import io.hvd.spi.LastBarrier;
import io.hvd.spi.TransportProvider.Connection;
import io.hvd.transport.mpi.openmpi.MpiFinalization;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/**
 * This process's use of MPI, which can be started and ended only once. The one thread that initialises MPI makes all later
 * calls as well and outlives a context, so that init, shutdown and init again work in one process.
 */
public final class MpiProcess implements MpiFinalization.Mpi {
    private static final HvdLogger LOG = HvdLogger.of(MpiProcess.class);

    /** Linux shows no more than 15 letters of a thread's name. */
    static final String THREAD = "hvd-engine-mpi";

    private static final MpiProcess THIS = new MpiProcess();

    private final ExecutorService thread = Executors.newSingleThreadExecutor(task -> {
        Thread engine = new Thread(task, THREAD);
        engine.setDaemon(true);
        return engine;
    });
    private final CompletableFuture<Object> stuck = new CompletableFuture<>();
    private volatile MpiSession session;
    /** The barrier of the first job of all processes that has been left in order; null until then. */
    private LastBarrier barrier;

    private Optional<Boolean> met = Optional.empty();
    private boolean finished;

    private MpiProcess() {}

    public static MpiProcess ofThisProcess() {
        return THIS;
    }

    @Override
    public Executor thread() {
        return thread;
    }

    /** The loader of the classes that call MPI, for code that calls it beside hvd once it has started. */
    public ClassLoader loader() {
        return session.loader();
    }

    /** Whether this process has taken part in an MPI job. Any thread may ask. */
    public boolean isStarted() {
        return session != null;
    }

    /**
     * Ends, by an {@link HvdException} that says for whom MPI waits, if MPI_Init has not returned within its limit. The
     * thread that calls MPI never returns then.
     */
    public CompletableFuture<Object> stuck() {
        return stuck;
    }

    Connection connect(HvdConfig config, List<Integer> ranks) {
        if (finished) {
            throw new HvdException(
                    ErrorId.INIT_FAILED,
                    "MPI cannot be started again in a process where HvdContext.close() has ended it;"
                            + " leave with Hvd.shutdown() where another Hvd.init() is to follow");
        }
        if (session == null) {
            session = start(config);
            // Foreign functions set the variable for UCX before it is loaded, and mpi.jar cannot.
            if (config.started().rank().orElse(0) == 0 && loader() instanceof MpiClassLoader) {
                UcxSignals.warning().ifPresent(LOG::warn);
            }
        }
        if (barrier != null && (ranks.isEmpty() || ranks.size() == session.worldSize())) {
            requireAllAgain(barrier);
        }
        return session.connect(ranks, Duration.ofSeconds(config.control().startTimeoutSeconds()));
    }

    /** MPI itself would wait for ever for a rank whose process ends, as by an exception between two jobs. */
    private static void requireAllAgain(LastBarrier barrier) {
        barrier.meetAgain().ifPresent(other -> {
            throw new HvdException(
                    ErrorId.INIT_FAILED,
                    "rank " + other + " has not called Hvd.init() again, as this rank has, expected that call of every"
                            + " rank: its process ends, or has ended, or it has called HvdContext.close() where"
                            + " Hvd.shutdown() keeps MPI for another job");
        });
    }

    /** Keeps the barrier of the first job of all processes, for the end of MPI. */
    public void inherit(LastBarrier left, int size) {
        if (barrier == null && size == session.worldSize()) {
            barrier = left;
        } else {
            left.close();
        }
    }

    @Override
    public boolean meet() {
        if (met.isEmpty()) { // several ranks of one process call this
            met = Optional.of(barrier != null && barrier.meet());
        }
        return met.get();
    }

    @Override
    public boolean leave(boolean well, boolean waits, Duration limit) {
        if (barrier == null) {
            return false;
        }
        if (well && waits) {
            return barrier.meet();
        }
        barrier.leave(well, limit);
        return false;
    }

    @Override
    public void finish() {
        if (session != null && !finished) {
            finished = true;
            session.finish();
        }
    }

    /** Ends the processes of all ranks of an MPI job, if this process is in one. Any thread may call it; it may not return. */
    public void abort(int exitCode) {
        MpiSession started = session;
        if (started != null) {
            started.abort(exitCode);
        }
    }

    private MpiSession start(HvdConfig config) {
        return new MpiSession(MpiBinding.of(config), config, stuck);
    }
}
