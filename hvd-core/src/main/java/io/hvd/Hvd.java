package io.hvd;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.error.NotInitialisedException;
import io.hvd.job.Membership;
import io.hvd.job.ProcessJob;
import io.hvd.job.RankProgram;
import io.hvd.tensor.Device;
import java.util.List;

/**
 * The way in. It holds no logic of its own: it finds the current context, the one bound to this
 * thread (or to the thread that started it) if there is one, else the process's.
 */
public final class Hvd {
    private static final InheritableThreadLocal<HvdContext> BOUND = new InheritableThreadLocal<>();
    private static final ProcessJob JOB = new ProcessJob();
    /** The latest context of this process; null before the first. */
    private static volatile HvdContext process;

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
        Membership membership = JOB.join(options.ranks(), options.processSets(), options.gpusPerRank());
        process = new HvdContext(membership, options);
        return process;
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
        return JOB.spawn(size, options.processSets(), onRank(options, body));
    }

    /** Binds the rank's thread, which ends after this, to the rank's context. */
    static <R> RankProgram<R> onRank(InitOptions options, RankBody<R> body) {
        return membership -> {
            HvdContext context = new HvdContext(membership, options);
            BOUND.set(context);
            return body.run(context);
        };
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
        HvdContext current = currentOrNull();
        ProcessJob.recordFailure(reason, exitCode, current == null ? null : current.membership());
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

    private static HvdContext current(String call) {
        HvdContext current = currentOrNull();
        if (current == null || !current.isOpen()) {
            throw new NotInitialisedException(call);
        }
        return current;
    }

    private static HvdContext currentOrNull() {
        HvdContext bound = BOUND.get();
        return bound != null ? bound : process;
    }
}
