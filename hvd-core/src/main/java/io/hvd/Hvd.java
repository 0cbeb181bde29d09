package io.hvd;

import io.hvd.backend.local.LocalProvider;
import io.hvd.backend.mpi.MpiProvider;
import io.hvd.backend.nccl.NcclProvider;
import io.hvd.backend.shm.SharedProvider;
import io.hvd.config.HvdConfig;
import io.hvd.config.HvdConfig.BackendChoice;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.error.NotInitialisedException;
import io.hvd.monitor.Member;
import io.hvd.monitor.Peers;
import io.hvd.monitor.SharedPeers;
import io.hvd.monitor.SocketPeers;
import io.hvd.net.HostAddress;
import io.hvd.spi.Backend;
import io.hvd.spi.BackendProvider;
import io.hvd.spi.StartupHook;
import io.hvd.spi.Topology;
import io.hvd.tensor.Device;
import java.util.List;
import java.util.ServiceLoader;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The way in. It holds no logic of its own: it finds the current context, the one bound to this
 * thread (or to the thread that started it) if there is one, else the process's.
 */
public final class Hvd {
    private static final InheritableThreadLocal<HvdContext> BOUND = new InheritableThreadLocal<>();
    private static volatile ProcessJob process;

    private Hvd() {}

    /**
     * Joins the job that mpirun or srun started; without one, this process is a job of one rank.
     * Calling it again returns the same context.
     */
    public static HvdContext init() {
        return init(InitOptions.standard());
    }

    /**
     * Joins with some of the world's ranks only; every one of them makes the same call, the others none.
     *
     * @param ranks world ranks in their new order; empty means all
     */
    public static HvdContext init(List<Integer> ranks) {
        return init(InitOptions.standard().withRanks(ranks));
    }

    /** Joins with some of the world's ranks, or with process sets from the start. */
    public static synchronized HvdContext init(InitOptions options) {
        HvdContext current = currentOrNull();
        if (current != null && current.isOpen()) {
            return current;
        }
        HvdConfig config = settings().withGpusPerRank(options.gpusPerRank());
        config.log().apply();
        requireDistinct(options.ranks());
        if (process == null) {
            process = new ProcessJob(null, new JobGuard(new FailureNotice(config)));
        }
        try {
            process = new ProcessJob(join(options, config, process.guard), process.guard);
        } catch (RuntimeException | Error e) {
            process.guard.notJoined(e);
            throw e;
        }
        logStart(process.context, config, process.context.localSize());
        return process.context;
    }

    private static HvdConfig settings() {
        try {
            return HvdConfig.fromEnvironment();
        } catch (HvdException bad) {
            new JobGuard(new FailureNotice(HvdConfig.ofLauncherOnly(System.getenv()))).notJoined(bad);
            throw bad;
        }
    }

    private static HvdContext join(InitOptions options, HvdConfig config, JobGuard guard) {
        runStartupHooks();
        Membership membership = Membership.join(
                new Membership.Place(choose(config), config, backend -> monitors(backend, config), guard), options);
        guard.watch(membership);
        requireSlurmsJob(options, config, membership.topology());
        membership.pin(GpuAssignment.assign(membership.topology(), config));
        return new HvdContext(membership, config.engine().dynamicProcessSets() || options.dynamicProcessSets());
    }

    /**
     * Runs {@code size} ranks as threads of this JVM and waits for all of them. Inside the body,
     * {@code Hvd.rank()} and the like answer for the rank of the thread.
     *
     * <p>Where mpirun or srun has started several processes, they are one job: each calls this with the same
     * size, thread t of process p is rank p * size + t, and a body that throws ends all processes. With
     * {@code HVD_BACKEND=local} each process is a job of its own all the same.
     *
     * @return the results of this JVM's bodies by rank
     * @throws HvdException if a body threw; the first failure in time is the cause, later ones are suppressed
     */
    public static <R> List<R> spawn(int size, RankBody<R> body) {
        return spawn(size, InitOptions.standard(), body);
    }

    /** Runs ranks as threads, with process sets. @param options of all ranks; they cannot be some of a larger job's */
    public static <R> List<R> spawn(int size, InitOptions options, RankBody<R> body) {
        if (!options.ranks().isEmpty()) {
            throw new HvdException(
                    ErrorId.BAD_ARGUMENT,
                    "spawn for ranks " + options.ranks() + ": threads take part all or not at all");
        }
        HvdConfig config = HvdConfig.fromEnvironment();
        config.log().apply();
        runStartupHooks();
        if (size < 1) {
            throw new IllegalArgumentException("spawn of " + size + " ranks, expected at least 1");
        }
        if (isOneOfSeveral(config)) {
            return RankThreads.launched(size, options, config, guardOfThreads(config, size))
                    .run(body);
        }
        config.notes().forEach(LoggerFactory.getLogger(Hvd.class)::warn);
        return RankThreads.alone(size, options, config).run(body);
    }

    private static boolean isOneOfSeveral(HvdConfig config) {
        if (config.backend() == BackendChoice.AUTO) {
            requireLauncher(config);
        }
        return config.backend() != BackendChoice.LOCAL && config.startedWithOthers();
    }

    /** The guard of this process, which must not be in a job already: MPI serves one at a time. */
    private static synchronized JobGuard guardOfThreads(HvdConfig config, int size) {
        if (process == null) {
            process = new ProcessJob(null, new JobGuard(new FailureNotice(config)));
        }
        if (process.guard.isInJob()) {
            throw new HvdException(
                    ErrorId.BAD_ARGUMENT,
                    "spawn of " + size + " ranks in a process that is part of a job already, by Hvd.init() or by"
                            + " another spawn; leave that one first, or leave it out: under a launcher spawn joins"
                            + " the job by itself");
        }
        return process.guard;
    }

    /** Leaves the job in order but lets {@link #init()} be called again; every rank must call it. */
    public static void shutdown() {
        HvdContext current = currentOrNull();
        if (current != null) {
            current.shutdown();
        }
    }

    /**
     * Tells the launcher why this process is about to end with an exit code of its own, so that horovodrun's last screen
     * begins with the reason instead of the code; for ends without an exception, such as a mistake in the program's
     * flags. Callable at any time, before init too; one rank that speaks for all is enough, before the others end.
     * Without horovodrun it does nothing.
     *
     * @param reason in a sentence
     */
    public static void recordFailure(String reason, int exitCode) {
        FailureNotice notice = new FailureNotice(HvdConfig.ofLauncherOnly(System.getenv()));
        HvdContext current = currentOrNull();
        if (current != null) {
            notice.speakFor(current.topology());
        }
        notice.recordOnly(reason, exitCode);
    }

    public static boolean isInitialized() {
        HvdContext current = currentOrNull();
        return current != null && current.isOpen();
    }

    /** What can be used here; callable at any time. */
    public static Capabilities capabilities() {
        HvdContext current = currentOrNull();
        return Capabilities.look(current == null ? "" : current.backend());
    }

    /** The current context. */
    public static HvdContext context() {
        return current("Hvd.context()");
    }

    public static int rank() {
        return current("Hvd.rank()").rank();
    }

    public static int size() {
        return current("Hvd.size()").size();
    }

    public static int localRank() {
        return current("Hvd.localRank()").localRank();
    }

    public static int localSize() {
        return current("Hvd.localSize()").localSize();
    }

    public static int crossRank() {
        return current("Hvd.crossRank()").crossRank();
    }

    public static int crossSize() {
        return current("Hvd.crossSize()").crossSize();
    }

    public static Device device() {
        return current("Hvd.device()").device();
    }

    public static List<Device> devices() {
        return current("Hvd.devices()").devices();
    }

    /** Makes a context the current one of this thread and of those it starts; null takes it away. */
    static void bind(HvdContext context) {
        if (context == null) {
            BOUND.remove();
        } else {
            BOUND.set(context);
        }
    }

    private static HvdContext current(String call) {
        HvdContext current = currentOrNull();
        if (current == null || !current.isOpen()) {
            throw new NotInitialisedException(call);
        }
        return current;
    }

    private static HvdContext currentOrNull() {
        HvdContext bound = BOUND.get();
        if (bound != null) {
            return bound;
        }
        return process != null ? process.context : null;
    }

    /** This process's latest context, null before the first, and the guard that watches it and its successors. */
    private record ProcessJob(HvdContext context, JobGuard guard) {}

    private static BackendProvider choose(HvdConfig config) {
        BackendChoice choice = config.backend();
        if (choice != BackendChoice.LOCAL) {
            requireLauncher(config);
        }
        if (choice == BackendChoice.AUTO) {
            choice = config.startedByLauncher() ? BackendChoice.NCCL : BackendChoice.LOCAL;
        }
        return switch (choice) {
            case MPI -> new SharedProvider(MpiProvider.ofThisProcess());
            // Without a GPU, or without NCCL, it is MPI alone, unless the setting asks for NCCL by name.
            case NCCL -> new NcclProvider(new SharedProvider(MpiProvider.ofThisProcess()), GpuAssignment::assign);
            default -> LocalProvider.team(1, config.stageBytes()).get(0);
        };
    }

    /** Processes that nobody has made ranks would each train alone, and nobody would notice. */
    private static void requireLauncher(HvdConfig config) {
        config.whyNotAlone().ifPresent(why -> {
            throw new HvdException(ErrorId.INIT_FAILED, why);
        });
    }

    /** MPI and Slurm must mean the same job; one that was split on purpose is its program's business. */
    private static void requireSlurmsJob(InitOptions options, HvdConfig config, Topology topology) {
        if (options.ranks().isEmpty() && config.startedByLauncher() && config.backend() != BackendChoice.LOCAL) {
            config.slurm()
                    .flatMap(slurm -> slurm.whyOtherJob(topology.rank(), topology.size()))
                    .ifPresent(why -> {
                        throw new HvdException(ErrorId.INIT_FAILED, why);
                    });
        }
    }

    /** A rank that is alone needs no sockets. */
    static Peers monitors(Backend backend, HvdConfig config) {
        Topology topology = backend.topology();
        return topology.size() == 1
                ? SharedPeers.team(1, topology.host()).get(0)
                : SocketPeers.connect(
                        Member.ofThisProcess(topology.rank(), topology.host()),
                        () -> HostAddress.of(topology.nodes(), config.controlInterface()),
                        backend::exchange);
    }

    private static void runStartupHooks() {
        ServiceLoader.load(StartupHook.class).forEach(StartupHook::beforeInit);
    }

    private static void requireDistinct(List<Integer> ranks) {
        if (ranks.stream().distinct().count() < ranks.size()) {
            throw new HvdException(ErrorId.BAD_ARGUMENT, "init for ranks " + ranks + ": a rank is named twice");
        }
    }

    /** On rank 0. @param busyWaiters ranks of this host that keep a processor busy while they wait */
    static void logStart(HvdContext hvd, HvdConfig config, int busyWaiters) {
        Logger log = LoggerFactory.getLogger(Hvd.class);
        if (config.slurm().isPresent() || config.debug().showRanks()) {
            log.info(StartLine.of(
                    hvd.topology(), ProcessHandle.current().pid(), GpuAssignment.gpus(hvd.devices()), config.slurm()));
        }
        if (hvd.rank() == 0) {
            config.notes().forEach(log::warn);
            config.slurm().flatMap(slurm -> slurm.waitingAdvice(busyWaiters)).ifPresent(log::warn);
            log.info(
                    "{} rank(s) on {}, back end {}, device of rank 0: {}",
                    hvd.size(),
                    hvd.hosts().stream().distinct().toList(),
                    hvd.backend(),
                    hvd.devices().size() > 1 ? hvd.devices() : hvd.device());
        }
    }
}
