package io.hvd.transport.mpi;

import io.hvd.config.HvdConfig;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.log.HvdLogger;
import io.hvd.spi.Backend;
import io.hvd.spi.BackendProvider;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/**
 * Makes back ends over Open MPI's Java bindings. The one thread that initialises MPI makes all later calls as well and
 * outlives a context, so that init, shutdown and init again work in one process.
 */
public final class MpiProvider implements BackendProvider {
    private static final HvdLogger LOG = HvdLogger.of(MpiProvider.class);
    /** The provider of this process: MPI can be started and ended only once in a process. */
    private static final MpiProvider PROCESS = new MpiProvider();

    private final ExecutorService thread = Executors.newSingleThreadExecutor(task -> {
        Thread engine = new Thread(task, "hvd-engine-mpi");
        engine.setDaemon(true);
        return engine;
    });
    private volatile MpiSession session;
    private Optional<Boolean> met = Optional.empty();
    private boolean finished;

    private MpiProvider() {}

    public static MpiProvider ofThisProcess() {
        return PROCESS;
    }

    /**
     * MPI as the classes that are linked with mpi.jar show it; made once per process, used on the communication thread.
     */
    public interface MpiSession {
        Backend open(HvdConfig config, List<Integer> ranks);

        /** As {@link BackendProvider#meet()}. */
        boolean meet();

        /** As {@link BackendProvider#leave}. */
        boolean leave(boolean well, boolean waits, Duration limit);

        /** Calls MPI_Finalize; every rank of the job must call this. */
        void finish();
    }

    @Override
    public String name() {
        return "mpi";
    }

    @Override
    public Executor communicationThread() {
        return thread;
    }

    @Override
    public Backend open(HvdConfig config, List<Integer> ranks) {
        if (finished) {
            throw new HvdException(
                    ErrorId.INIT_FAILED,
                    "MPI cannot be started again in a process where HvdContext.close() has ended it;"
                            + " leave with Hvd.shutdown() where another Hvd.init() is to follow");
        }
        if (session == null) {
            session = start(config);
            if (config.started().rank().orElse(0) == 0) {
                UcxSignals.warning().ifPresent(LOG::warn);
            }
        }
        return session.open(config, ranks);
    }

    @Override
    public boolean meet() {
        if (met.isEmpty()) { // several ranks of one process call this
            met = Optional.of(session != null && session.meet());
        }
        return met.get();
    }

    @Override
    public boolean leave(boolean well, boolean waits, Duration limit) {
        return session != null && session.leave(well, waits, limit);
    }

    /** Whether this process has taken part in an MPI job. Any thread may ask. */
    public boolean isStarted() {
        return session != null;
    }

    @Override
    public void finish() {
        if (session != null && !finished) {
            finished = true;
            session.finish();
        }
    }

    /**
     * The mpi.jar of the Open MPI that would be used.
     *
     * @throws HvdException that says what is missing, or which versions do not fit together
     */
    public static Path jar(HvdConfig config) {
        return MpiJar.matching(OpenMpi.locate(config), config);
    }

    /** The local Maven repository in which mpi.jar is looked for. */
    public static Path localRepository() {
        return MpiJar.localRepository();
    }

    /** Whether an Open MPI and the mpi.jar of its version are installed. */
    public static boolean isInstalled(HvdConfig config) {
        try {
            jar(config);
            return true;
        } catch (HvdException missing) {
            return false;
        }
    }

    private static MpiSession start(HvdConfig config) {
        OpenMpi mpi = OpenMpi.locate(config);
        Path jar = MpiJar.matching(mpi, config);
        try {
            return (MpiSession) Class.forName(
                            "io.hvd.transport.mpi.bindings.BoundSession",
                            true,
                            new MpiClassLoader(jar, mpi.jniLibrary()))
                    .getConstructor(HvdConfig.class)
                    .newInstance(config);
        } catch (ReflectiveOperationException | LinkageError e) {
            Throwable cause = e instanceof java.lang.reflect.InvocationTargetException ? e.getCause() : e;
            if (cause instanceof HvdException known) {
                throw known;
            }
            throw new HvdException(
                    ErrorId.INIT_FAILED,
                    "Open MPI " + mpi.version() + " (" + mpi.jniLibrary() + ") with " + jar + " did not start: "
                            + cause,
                    cause);
        }
    }
}
