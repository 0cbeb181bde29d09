package io.hvd;

import io.hvd.config.HvdConfig;
import io.hvd.config.LauncherFacts;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.error.NotInitialisedException;
import io.hvd.job.JobOptions;
import io.hvd.job.Membership;
import io.hvd.job.ProcessJob;
import io.hvd.job.RankProgram;
import io.hvd.job.RankThreads;
import io.hvd.job.TaskPlace;
import io.hvd.job.TaskRank;
import io.hvd.job.TaskScheduler;
import io.hvd.tensor.Device;
import java.util.List;

/**
 * Joins a job and finds the current context. The current context is the one bound to this thread, or to the thread
 * that started this thread; if there is none, it is the context of the process.
 *
 * <p>Methods that need a context throw a {@link NotInitialisedException} before {@link #init()} and after the context
 * has been closed. Inside {@link #spawn} they also throw it on a thread of a {@link java.util.concurrent.ForkJoinPool}
 * or {@link java.util.concurrent.ThreadPoolExecutor}, such as one of a parallel stream: it works for whichever rank
 * gives it work. Code that runs there uses the {@link HvdContext} that the body was given.
 *
 * <pre>{@code
 * try (HvdContext hvd = Hvd.init()) {
 *     Tensor mean = hvd.allreduce("loss", Tensor.of(loss));
 *     if (hvd.rank() == 0) {
 *         System.out.println("mean of " + hvd.size() + " ranks: " + mean.item());
 *     }
 * }
 * }</pre>
 */
public final class Hvd {
    private static final RankThreads.Bound<HvdContext> BOUND = new RankThreads.Bound<>();
    private static final ProcessJob JOB = new ProcessJob();
    /** The latest context of this process; null before the first {@link #init()}. */
    private static volatile HvdContext process;

    private Hvd() {}

    /**
     * Joins the job that mpirun or srun started. An interrupt does not end the wait for the other ranks (see {@link
     * HvdContext}). Without a launcher, this process is a job of one rank. A further call
     * returns the open context.
     *
     * <pre>{@code
     * try (HvdContext hvd = Hvd.init()) { // horovodrun -np 4 java ...
     *     train(hvd);
     * }
     * }</pre>
     *
     * @throws HvdException if the ranks do not find each other, or their settings are wrong or differ
     */
    public static HvdContext init() {
        return init(InitOptions.standard());
    }

    /**
     * Joins a job of only some of the world's ranks. Each of these ranks makes this call; the other ranks make none.
     * Where the ranks meet at rank 0, with neither MPI nor horovodrun, rank 0 is one of them or calls for a job of its own.
     * A rank that has not made the call within HOROVOD_START_TIMEOUT is named to those that have, and their calls fail.
     *
     * <pre>{@code
     * HvdContext hvd = Hvd.init(List.of(2, 0)); // on world ranks 2 and 0 alone; world rank 2 is rank 0 now
     * }</pre>
     *
     * @param ranks world ranks in their new order; an empty list means all ranks
     */
    public static HvdContext init(List<Integer> ranks) {
        return init(InitOptions.standard().withRanks(ranks));
    }

    /**
     * Joins the job with options, such as a choice of ranks or process sets that exist from the start.
     *
     * <pre>{@code
     * var hvd = Hvd.init(InitOptions.standard().withProcessSets(List.of(List.of(0, 1), List.of(2, 3))));
     * ProcessSet first = hvd.processSet(1); // number 0 is the set of all ranks
     * }</pre>
     */
    public static synchronized HvdContext init(InitOptions options) {
        requireCertain("Hvd.init()");
        HvdContext current = currentOrNull();
        if (current != null && current.isOpen()) {
            return current;
        }
        Membership membership = JOB.join(jobOptions(options));
        process = new HvdContext(membership, options);
        return process;
    }

    /**
     * Runs {@code size} ranks as threads of this JVM and waits for all of them. Inside the body,
     * {@code Hvd.rank()} and similar methods answer for the rank of the thread. On a thread from before the call they
     * throw, or answer for the job of the whole process if {@link #init()} has joined one.
     *
     * <p>If mpirun or srun has started several processes, all of them are one job. Each process calls this method with
     * the same size, thread t of process p is rank p * size + t, and a body that throws ends all processes. With
     * {@code HVD_BACKEND=local} each process is a separate job.
     *
     * <p>What a process has once, the ranks share, such as LibTorch's default generator, from which dropout draws: the page
     * docs/reference/api.md lists it and says what to do instead.
     *
     * <p>Where there are GPUs, each rank gets its own, which is the current device of the thread that runs its body; the
     * back ends local and mpi, asked for by name, use none.
     *
     * <p>An interrupt of the calling thread, such as by {@code future.cancel(true)}, cancels the job: whatever waits for
     * another rank throws an error that says so, and so does every later call; the ranks' threads are interrupted. The
     * method then throws, and the calling thread stays interrupted. A body that neither calls hvd nor looks at the
     * interrupt is left behind after two seconds, as a daemon thread, and the error says where it is. Under a launcher
     * all processes of the job end, as after a body that throws. For an end that all ranks agree on let the
     * ranks share a flag in an allreduce.
     *
     * <pre>{@code
     * List<Double> losses = Hvd.spawn(4, hvd -> train(hvd)); // four ranks, one result each
     * }</pre>
     *
     * @return the results of this JVM's bodies, in the order of their ranks
     * @throws HvdException if a body threw; the first failure in time is the cause, later ones are suppressed. It is also
     *     thrown if there are more ranks than GPUs, and with an {@link InterruptedException} as its cause if the job was
     *     cancelled
     */
    public static <R> List<R> spawn(int size, RankBody<R> body) {
        return spawn(size, InitOptions.standard(), body);
    }

    /**
     * Runs ranks as threads, with options.
     *
     * @param options options of all ranks; they must not choose some of the ranks
     * @throws HvdException as {@link #spawn(int, RankBody)} does, and if the options choose some of the ranks
     */
    public static <R> List<R> spawn(int size, InitOptions options, RankBody<R> body) {
        if (!options.ranks().isEmpty()) {
            throw new HvdException(
                    ErrorId.BAD_ARGUMENT,
                    "spawn for ranks " + options.ranks() + ": threads take part all or not at all");
        }
        return JOB.spawn(size, jobOptions(options), onRank(options, body));
    }

    /**
     * Runs the body as one rank, which a cluster's scheduler has started as a task on this thread. The rank has a context of its
     * own, to which this thread is bound while the body runs: a process may run several ranks of one job, or of several jobs,
     * side by side. A failure throws, and never ends the process. Where one rank fails, what the others wait for throws.
     *
     * <pre>{@code
     * double loss = Hvd.runTask(task, InitOptions.standard(), hvd -> train(hvd)); // every task of the job calls it
     * }</pre>
     *
     * @param options choose none of the ranks; the failure policy is always {@link FailurePolicy#THROW}
     * @return the result of this rank's body
     * @throws HvdException if the ranks do not find each other, or another one has failed
     * @throws Exception that the body has thrown
     */
    public static <R> R runTask(ClusterTask task, InitOptions options, RankBody<R> body) throws Exception {
        if (!options.ranks().isEmpty()) {
            throw new HvdException(
                    ErrorId.BAD_ARGUMENT,
                    "a task for ranks " + options.ranks() + ": tasks take part all or not at all");
        }
        TaskRank rank = new TaskRank(new TaskPlace(task.rank(), task.size(), task.gpus()), taskOptions(options));
        HvdContext before = bound();
        try {
            return rank.run(new TaskScheduler(task.secret(), task::exchange, task::cancelled), onRank(options, body));
        } finally {
            bind(before);
        }
    }

    /** Joins as a rank that is this thread, at the meeting of a launcher, and binds the thread to it. */
    static HvdContext joinTask(TaskPlace place, String meeting, InitOptions options) {
        HvdContext context = new HvdContext(new TaskRank(place, taskOptions(options)).joinAt(meeting), options);
        BOUND.bind(context);
        return context;
    }

    /** What the calling thread is bound to; null if it is not. */
    static HvdContext bound() {
        return BOUND.inherited();
    }

    /** Ends a binding of the calling thread. @param before what it was bound to; null if it was not */
    static void bind(HvdContext before) {
        BOUND.release(before);
    }

    /** The options of a rank that is a task, which can only be told of a failure. */
    static JobOptions taskOptions(InitOptions options) {
        return jobOptions(options.withFailurePolicy(FailurePolicy.THROW));
    }

    private static JobOptions jobOptions(InitOptions options) {
        return new JobOptions(
                options.ranks(),
                options.processSets(),
                options.settings(),
                config -> applied(options, config),
                options.failurePolicy() == FailurePolicy.THROW);
    }

    private static HvdConfig applied(InitOptions options, HvdConfig config) {
        HvdConfig handling = options.uncaughtHandler() ? config : config.withoutUncaughtHandler();
        return handling.withGpusPerRank(options.gpusPerRank()).withStallTimeout(options.stallTimeout());
    }

    /** Binds the thread of a rank to the rank's context; the thread ends after the body. */
    static <R> RankProgram<R> onRank(InitOptions options, RankBody<R> body) {
        return membership -> {
            HvdContext context = new HvdContext(membership, options);
            BOUND.bind(context);
            return body.run(context);
        };
    }

    /**
     * Leaves the job in order, so that {@link #init()} may be called again. Every rank must call it.
     *
     * <pre>{@code
     * HvdContext first = Hvd.init();
     * Hvd.shutdown();
     * HvdContext second = Hvd.init(); // close() in place of shutdown() would not allow this
     * }</pre>
     */
    public static void shutdown() {
        requireCertain("Hvd.shutdown()");
        HvdContext current = currentOrNull();
        if (current != null) {
            current.shutdown();
        }
    }

    /**
     * Tells the launcher why this process is about to end with an exit code of its own, so that horovodrun's last
     * screen begins with the reason instead of the code. Use it for an end without an exception, for instance after a
     * mistake in the program's flags. It may be called at any time, even before {@link #init()}. It is enough if one
     * rank calls it, before the other ranks end. Without horovodrun it does nothing.
     *
     * <pre>{@code
     * if (!Files.exists(data)) {
     *     Hvd.recordFailure("there is no file " + data, 2);
     *     System.exit(2);
     * }
     * }</pre>
     *
     * @param reason a sentence for the user
     * @param exitCode the exit code with which the process is about to end
     */
    public static void recordFailure(String reason, int exitCode) {
        HvdContext current = BOUND.isUncertain() ? null : currentOrNull();
        ProcessJob.recordFailure(reason, exitCode, current == null ? null : current.membership());
    }

    /**
     * Whether the calling thread, or else the process, has a context that is open.
     *
     * <pre>{@code
     * int rank = Hvd.isInitialized() ? Hvd.rank() : 0; // in code that also runs alone
     * }</pre>
     */
    public static boolean isInitialized() {
        HvdContext current = currentOrNull();
        return current != null && current.isOpen();
    }

    /**
     * Says what hvd can use on this machine. It may be called at any time.
     *
     * <pre>{@code
     * System.out.println(Hvd.capabilities());
     * }</pre>
     */
    public static Capabilities capabilities() {
        HvdContext current = currentOrNull();
        return Capabilities.look(current == null ? "" : current.membership().transport());
    }

    /**
     * The current context.
     *
     * <pre>{@code
     * Hvd.context().barrier();
     * }</pre>
     */
    public static HvdContext context() {
        return current("Hvd.context()");
    }

    /**
     * The number of this rank in the job, counted from 0.
     *
     * <pre>{@code
     * if (Hvd.rank() == 0) {
     *     System.out.println("one line for all ranks");
     * }
     * }</pre>
     */
    public static int rank() {
        return current("Hvd.rank()").rank();
    }

    /**
     * The number that mpirun or srun has given this process, known before {@link #init()}; 0 without a launcher. It is the
     * rank that init gives, unless the program chooses ranks or has several as threads. With it one process does what must
     * come before the job:
     *
     * <pre>{@code
     * if (Hvd.rankFromLauncher() == 0) {
     *     Files.createDirectories(folder);
     * }
     * }</pre>
     *
     * <p>The other processes do not wait for it; those that need the folder use it after {@link #init()}.
     *
     * @return -1 if the launcher's variable holds no number of a rank
     */
    public static int rankFromLauncher() {
        return Math.max(-1, LauncherFacts.rank(System.getenv()).orElse(0));
    }

    /**
     * The number of ranks of the job.
     *
     * <pre>{@code
     * optimizer.learningRate(0.01 * Hvd.size());
     * }</pre>
     */
    public static int size() {
        return current("Hvd.size()").size();
    }

    /**
     * The number of this rank among those of its host, counted from 0.
     *
     * <pre>{@code
     * if (Hvd.localRank() == 0) {
     *     unpack(data); // once on each host
     * }
     * Hvd.context().barrier();
     * }</pre>
     */
    public static int localRank() {
        return current("Hvd.localRank()").localRank();
    }

    /** The number of ranks on this rank's host. */
    public static int localSize() {
        return current("Hvd.localSize()").localSize();
    }

    /** The number of this rank's host among the hosts that have a rank with the same local rank. */
    public static int crossRank() {
        return current("Hvd.crossRank()").crossRank();
    }

    /** The number of hosts that have a rank with this rank's local rank. */
    public static int crossSize() {
        return current("Hvd.crossSize()").crossSize();
    }

    /**
     * The device of this rank: its first GPU, or the CPU.
     *
     * <pre>{@code
     * System.out.println("rank " + Hvd.rank() + " computes on " + Hvd.device());
     * }</pre>
     */
    public static Device device() {
        return current("Hvd.device()").device();
    }

    /** All GPUs of this rank; the CPU alone if it has none. */
    public static List<Device> devices() {
        return current("Hvd.devices()").devices();
    }

    private static HvdContext current(String call) {
        requireCertain(call);
        HvdContext current = currentOrNull();
        if (current != null && current.isOpen()) {
            return current;
        }
        if (BOUND.inherited() == null && JOB.isSpawning()) {
            throw new NotInitialisedException(
                    call,
                    "on thread " + Thread.currentThread().getName()
                            + ", which no rank of Hvd.spawn has started. Use the HvdContext that the body was given");
        }
        throw current == null ? beforeInit(call) : current.membership().closed(call);
    }

    /** A line ported from torch may ask for the rank that early. */
    private static NotInitialisedException beforeInit(String call) {
        return call.equals("Hvd.rank()")
                ? new NotInitialisedException(
                        call,
                        "but hvd is not initialised: call Hvd.init() first, or Hvd.rankFromLauncher(), which answers before it")
                : new NotInitialisedException(call);
    }

    private static void requireCertain(String call) {
        if (BOUND.isUncertain()) {
            throw new NotInitialisedException(
                    call,
                    "on thread " + Thread.currentThread().getName()
                            + ", which a pool has made or a thread of one has started: such a thread works for any of"
                            + " the " + BOUND.inherited().size() + " ranks that are threads of this JVM, and hvd cannot"
                            + " know for which. Use the HvdContext that the body of Hvd.spawn was given");
        }
    }

    private static HvdContext currentOrNull() {
        HvdContext bound = BOUND.inherited();
        return bound != null ? bound : process;
    }
}
