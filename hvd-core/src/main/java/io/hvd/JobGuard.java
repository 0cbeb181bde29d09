package io.hvd;

import io.hvd.backend.mpi.MpiProvider;
import io.hvd.error.FailureRecord;
import io.hvd.error.ShutdownException;
import io.hvd.monitor.HangReport;
import io.hvd.spi.Topology;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.Collection;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Sees to it that a job never outlives one of its ranks: a rank that throws or exits says why, tells
 * the others and ends them all. MPI alone notices neither an exception in a background thread nor,
 * while other threads live, one in main.
 */
final class JobGuard implements Membership.Events {
    private static final Logger LOG = LoggerFactory.getLogger(JobGuard.class);
    private static final long TELL_MILLIS = 500;
    /** In which the engine hears of what a thread has run into. */
    private static final long HEAR_MILLIS = 1_000;
    /** More than a survivor takes to leave, at whose end the process ends. */
    private static final long GUARD_MILLIS = 10_000;
    /** How often a rank that waits for the others in MPI_Finalize looks whether they still live. */
    private static final long LOOK_MILLIS = 500;
    /** For the end of MPI once a rank of this host is gone: it may have been through before this one. */
    private static final long FINISH_MILLIS = 5_000;

    private static final int EXIT_CODE = 1;
    private static final int RESERVE_BYTES = 1 << 20;

    private final FailureNotice report;
    private final Survivor survivor;
    private final AtomicBoolean failing = new AtomicBoolean();
    private boolean installed;
    /** Let go when a thread has thrown: with a full heap nothing could be said about it otherwise. */
    private volatile byte[] reserve = new byte[RESERVE_BYTES];
    /** Null until this rank has joined. */
    private volatile Membership membership;
    /** Ends the process when another rank has failed. */
    private final CompletableFuture<Thread> leaving = new CompletableFuture<>();
    /** A thread has ended by an exception; the process's exit code may tell of it. */
    private volatile boolean hasThrown;
    /** What init threw; null if it did not. */
    private volatile Throwable notJoined;

    JobGuard(FailureNotice report) {
        this.report = report;
        this.survivor = new Survivor(report, Survivor.Limits.STANDARD);
    }

    /**
     * Watches this process for as long as it lives: uncaught exceptions in any thread, and exits with
     * the context still open. Called again after a shutdown, for the next context.
     */
    void watch(Membership watched) {
        follow(watched);
        install();
        daemon(this::rehearse, "hvd-guard-rehearsal").start();
    }

    /** What takes longest the first time is done once while nothing is wrong. */
    private void rehearse() {
        report.rehearse();
        ExitCause.find();
        membership.monitor().neighbours().living();
    }

    private static Thread daemon(Runnable task, String name) {
        Thread thread = new Thread(task, name);
        thread.setDaemon(true);
        return thread;
    }

    /** Speaks for one of several ranks of this process; another guard watches the process. */
    void follow(Membership followed) {
        membership = followed;
    }

    /** Whether this process is a rank of a job, or one of its threads is, at the moment. */
    boolean isInJob() {
        return isOpen();
    }

    /** The body of a rank that is a thread has thrown, which ends the job; if it was over, nothing is left to end. */
    void threw(Thread thread, Throwable cause) {
        uncaught(null, thread, cause);
    }

    /** Init is about to throw. The record is left now, because the program may catch it and end in its own way. */
    void notJoined(Throwable cause) {
        notJoined = cause;
        report.recordOnly("init failed: " + cause, Thread.currentThread().getName(), stackOf(cause));
        install();
    }

    private synchronized void install() {
        if (installed) {
            return;
        }
        installed = true;
        Thread.UncaughtExceptionHandler previous = Thread.getDefaultUncaughtExceptionHandler();
        Thread.setDefaultUncaughtExceptionHandler((thread, cause) -> uncaught(previous, thread, cause));
        Runtime.getRuntime().addShutdownHook(new Thread(this::exiting, "hvd-exit"));
    }

    @Override
    public void placed(Topology topology) {
        report.speakFor(topology);
    }

    /** The engine has learned that the job cannot go on. If nobody ends this process, it ends itself. */
    @Override
    public void failed(Membership member, String why) {
        Thread last = daemon(
                () -> {
                    survivor.leave(surroundings(member), why);
                    abort(member, why);
                },
                "hvd-guard");
        last.start();
        leaving.complete(last);
    }

    private static Survivor.Surroundings surroundings(Membership member) {
        return new Survivor.Surroundings() {
            @Override
            public int rank() {
                return member.topology().rank();
            }

            @Override
            public List<Integer> living() {
                return member.monitor().neighbours().living();
            }

            @Override
            public boolean threadsSpeak() {
                return member.threadsSpeak();
            }

            @Override
            public void limitLauncher(boolean first) {
                if (MpiProvider.ofThisProcess().isStarted()) { // else its other programs are no ranks of this job
                    LauncherLimit.begin(first);
                }
            }

            @Override
            public Optional<Runnable> waker() {
                return MpiParent.ofThisProcess().map(parent -> parent::wake);
            }
        };
    }

    /** Every rank has closed in order, so what the program has come to stands. */
    @Override
    public void heldUp(Membership member, long millis) {
        LOG.warn(
                "MPI_Finalize has not returned within {} s although every rank has called it; {} ends without it."
                        + " A foreign connection to a port of Open MPI does that: see docs/security.md",
                millis / 1_000,
                report.name());
    }

    /** The reporter's record is the cause that the launcher shows; stderr has had its summary. The others end when they are told. */
    @Override
    public void hangFound(Membership member, HangReport hang) {
        report.quietly("the job hangs: " + hang.verdict() + "; all stacks: " + hang.file(), "hvd-monitor", false);
    }

    @Override
    public void hung(Membership member, HangReport hang) {
        noteHang(member, hang);
        survivor.awaitOthers(surroundings(member));
        Runtime.getRuntime().halt(EXIT_CODE);
    }

    /** The record of a rank that another one's report ends. */
    void noteHang(Membership member, HangReport hang) {
        if (hang.reporter() != member.topology().rank()) {
            report.quietly("ended, because rank " + hang.reporter() + " has reported a hang", "hvd-monitor", true);
        }
    }

    private void uncaught(Thread.UncaughtExceptionHandler previous, Thread thread, Throwable cause) {
        reserve = null;
        hasThrown = true;
        try {
            tell(previous, thread, cause);
        } catch (OutOfMemoryError full) {
            // Not even the reserve was enough; the launcher still sees the exit code, and the others the end.
            Runtime.getRuntime().halt(EXIT_CODE);
        }
    }

    private void tell(Thread.UncaughtExceptionHandler previous, Thread thread, Throwable cause) {
        String why = "thread " + thread.getName() + " threw " + cause;
        if (isConsequence(cause)) {
            report.consequence(why, thread.getName());
            awaitGuard();
        } else if (isInitFailure(cause)) {
            report.print(why, stackOf(cause));
        } else {
            report.failure(why, thread.getName(), stackOf(cause), EXIT_CODE);
        }
        if (isOpen()) {
            endJob(why);
        } else if (isInitFailure(cause)) {
            // Other threads may live on, and would keep this process in the job.
            System.exit(EXIT_CODE);
        } else if (previous != null) {
            previous.uncaughtException(thread, cause);
        }
    }

    /** If this process left first, its exit code would be the job's. */
    private void awaitGuard() {
        try {
            leaving.get(HEAR_MILLIS, TimeUnit.MILLISECONDS).join(GUARD_MILLIS);
        } catch (TimeoutException | ExecutionException e) {
            // The job goes on, and what was thrown ends it now.
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static boolean isConsequence(Throwable cause) {
        return chain(cause).anyMatch(ShutdownException.class::isInstance);
    }

    /** The record of which has been left already. */
    private boolean isInitFailure(Throwable cause) {
        return chain(cause).anyMatch(link -> link == notJoined);
    }

    private static Stream<Throwable> chain(Throwable cause) {
        return Stream.iterate(cause, Objects::nonNull, Throwable::getCause);
    }

    private boolean isOpen() {
        Membership watched = membership;
        return watched != null && watched.isOpen();
    }

    private void endJob(String why) {
        if (failing.compareAndSet(false, true)) {
            membership.fail(report.sentence(why), TELL_MILLIS);
            survivor.awaitOthers(surroundings(membership));
            abort(membership, why);
        }
    }

    /** Ends this process in any case; where it is the only one of its job, nothing else would. */
    private static void abort(Membership member, String why) {
        member.abort(EXIT_CODE, why);
        Runtime.getRuntime().halt(EXIT_CODE);
    }

    /** In the exit hook. MPI_Finalize is never called here while the context is open: it would hang. */
    private void exiting() {
        if (membership == null) {
            return;
        }
        if (!membership.isOpen() && membership.failure().isEmpty()) {
            finishWhatShutdownLeft();
            if (membership.leave(ExitCause.find().byReturn() && !hasThrown)) {
                endWellWithoutMpi();
            }
            if (MpiProvider.ofThisProcess().isStarted() && membership.topology().localRank() == 0) {
                Topology topology = membership.topology();
                LauncherLimit.beginAfterTheRanks(topology.localSize() == topology.size());
            }
            return;
        }
        ExitCause cause = ExitCause.find();
        if (cause.signal()) {
            endedBySignal();
            return;
        }
        if (!membership.failure().isEmpty()) {
            // The program has caught what it was told, or has returned from close(). Its exit status stays its own.
            survivor.sayWhy(surroundings(membership), membership.failure());
            return;
        }
        String why = cause.sentence() + " before HvdContext.close(), so the other ranks would wait for ever";
        report.failure(why, cause.thread(), cause.stack(), FailureRecord.UNKNOWN);
        // The exit status stays the program's own; the launcher and the other ranks end the job.
        membership.fail(report.sentence(why), TELL_MILLIS);
        survivor.awaitOthers(surroundings(membership));
    }

    /**
     * Open MPI 4.1 takes a process that ends without MPI_Finalize for a failure, but not MPI_Abort with code zero. That may
     * be held up as well, which is no reason to stay.
     */
    private void endWellWithoutMpi() {
        Thread abort = daemon(
                () -> {
                    report.goodEnd();
                    membership.abort(0, "");
                },
                "hvd-end");
        abort.start();
        try {
            abort.join(FINISH_MILLIS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /**
     * Somebody else ends this process: mpirun, because a rank has failed, or the user. In the first
     * case this rank leaves its record and stays until all on this host have: the first one to end
     * wakes mpirun, which then kills the others.
     */
    private void endedBySignal() {
        String heard = membership.awaitFailure();
        String why = heard.isEmpty() ? whoIsMissing() : heard;
        if (!why.isEmpty()) {
            survivor.sayWhy(surroundings(membership), why);
        }
    }

    /** A thread inside MPI does not hear of a rank's death, and neither does the engine; nobody is told of a host's. */
    private String whoIsMissing() {
        Collection<Integer> lost = membership.monitor().neighbours().dead();
        if (!lost.isEmpty()) {
            return "the processes of ranks " + lost + " on this host are gone";
        }
        return membership.monitor().silentHosts().entrySet().stream()
                .map(host -> "host " + host.getKey() + " with ranks " + host.getValue() + " gives no sign of life")
                .findFirst()
                .orElse("");
    }

    /**
     * After shutdown() on all ranks MPI is still up. Its end waits for every rank's, and one that works on alone, as on
     * its last checkpoint, may take its time; only the death of a rank is a reason not to wait. The launcher notices that of
     * a rank on another host. Once the last rank has come, there is a limit.
     */
    private void finishWhatShutdownLeft() {
        FutureTask<Void> finish = new FutureTask<>(membership::finish, null);
        Thread worker = new Thread(finish, "hvd-finish");
        worker.setDaemon(true);
        worker.start();
        try {
            while (!endsWithin(finish, LOOK_MILLIS)) {
                List<Integer> gone = membership.hasMet()
                        ? List.of()
                        : membership.monitor().neighbours().dead();
                if (!gone.isEmpty() && !endsWithin(finish, FINISH_MILLIS)) {
                    abort(membership, "MPI could not be ended in order: the processes of ranks " + gone + " are gone");
                }
            }
        } catch (ExecutionException e) {
            abort(membership, "MPI could not be ended in order: " + e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static boolean endsWithin(FutureTask<Void> finish, long millis)
            throws ExecutionException, InterruptedException {
        try {
            finish.get(millis, TimeUnit.MILLISECONDS);
            return true;
        } catch (TimeoutException e) {
            return false;
        }
    }

    private static String stackOf(Throwable cause) {
        StringWriter text = new StringWriter();
        cause.printStackTrace(new PrintWriter(text));
        return text.toString();
    }
}
