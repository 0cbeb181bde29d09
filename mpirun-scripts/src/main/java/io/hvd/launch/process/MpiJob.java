package io.hvd.launch.process;

import io.hvd.error.FailureRecord;
import io.hvd.error.SuccessMarker;
import io.hvd.launch.failure.HydraWords;
import io.hvd.launch.failure.LastLines;
import io.hvd.launch.failure.MpirunWords;
import io.hvd.launch.failure.ObservedFailure;
import io.hvd.launch.failure.OutputLines;
import io.hvd.launch.mpi.MpiInstall;
import java.io.File;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.TimeUnit;

/**
 * A job under mpirun. The main thread starts it and waits; a shutdown hook may end it from another thread.
 *
 * <p>Where the launcher is not in the foreground of a terminal, mpirun is put into a session of its own (where setsid is
 * there), so that a signal to the whole group reaches the launcher alone. In the foreground it has to stay in the group: it
 * reads a terminal from nowhere else.
 */
public final class MpiJob implements StartedJob {

    /** After mpirun's end only what is in the pipe is still to be copied. */
    private static final long LAST_WORDS_MILLIS = 2_000;

    private static final long LOOK_MILLIS = 500;

    /** Hydra ends a job within milliseconds of a rank's death if that rank has called MPI. */
    private static final long UNMOVED_NANOS = 2_000_000_000L;

    private static final File NOTHING = new File("/dev/null");

    private final ProcessBuilder builder;
    private final Path folder;
    private final MpirunWords said = new MpirunWords();
    private final Optional<HydraWords> hydra;
    private Optional<MpirunFamily> family = Optional.empty();
    private Optional<JobWatch> watch = Optional.empty();
    private boolean ending;
    private volatile Optional<ObservedFailure> died = Optional.empty();

    /**
     * A job that is not started yet.
     *
     * @param hydra whether it is Hydra that starts it
     * @param folder the folder of the job's failure records, by which its processes are told from others
     */
    public MpiJob(
            List<String> line, boolean hydra, Map<String, String> environment, Path folder, LaunchEnvironment around) {
        this.folder = folder;
        this.hydra = hydra ? Optional.of(new HydraWords()) : Optional.empty();
        List<String> words = new ArrayList<>(line);
        if (!Terminal.isForeground()) {
            MpiInstall.onPath("setsid", environment).ifPresent(setsid -> words.add(0, setsid.toString()));
        }
        builder = new ProcessBuilder(words).inheritIO().redirectError(ProcessBuilder.Redirect.PIPE);
        around.directory().ifPresent(directory -> builder.directory(directory.toFile()));
        if (!around.reads()) {
            builder.redirectInput(NOTHING);
        }
        builder.environment().clear();
        builder.environment().putAll(environment);
    }

    /** The exit code of mpirun, or of the ranks where mpirun takes no notice of their end. */
    @Override
    public int run() throws IOException, InterruptedException {
        Process started = start();
        var copier = new Thread(() -> copyErrors(started), "hvd-launch-stderr");
        copier.setDaemon(true);
        copier.start();
        int exitCode = endOf(started);
        if (ObservedFailure.isSignal(exitCode)) {
            endOrphans(started, exitCode, copier);
        }
        copier.join(LAST_WORDS_MILLIS);
        return ending() ? exitCode : ofFirstRank().orElse(exitCode);
    }

    /** Hydra itself may have the code of a rank that it has killed. */
    private Optional<Integer> ofFirstRank() {
        return hydra.flatMap(words -> words.firstFailure(List.of())).map(ObservedFailure::exitCode);
    }

    private int endOf(Process started) throws InterruptedException {
        var unnoticed = new UnnoticedEnds(started.pid(), () -> SuccessMarker.isIn(folder));
        while (!started.waitFor(LOOK_MILLIS, TimeUnit.MILLISECONDS)) {
            OptionalInt ofRanks = unnoticed.look(System.nanoTime());
            if (ofRanks.isPresent() && !ending()) {
                System.err.println(
                        "horovodrun: all ranks have ended and mpirun takes no notice of it, as when a foreign"
                                + " connection to one of its ports keeps it busy; horovodrun ends it");
                killMpirun(started);
                return ofRanks.getAsInt();
            }
            if (hydra.isPresent() && hydra.get().hasFailedFor(UNMOVED_NANOS) && !ending()) {
                System.err.println("horovodrun: a rank has failed and mpirun goes on without it; horovodrun ends it");
                killMpirun(started);
            }
        }
        return started.exitValue();
    }

    private synchronized Process start() throws IOException, InterruptedException {
        if (ending) {
            throw new InterruptedException("ended before it began");
        }
        Process mpirun = builder.start();
        family = Optional.of(family(mpirun));
        try {
            watch = Optional.of(JobWatch.overMpirun(mpirun, folder, builder.environment()));
        } catch (IOException e) {
            mpirun.destroy();
            throw e;
        }
        return mpirun;
    }

    private MpirunFamily family(Process mpirun) {
        return new MpirunFamily(mpirun, folder, builder.environment());
    }

    /** Hands a signal on to mpirun, which hands it on to the ranks. */
    @Override
    public synchronized void send(String signal) {
        watch.ifPresent(open -> open.send(signal));
    }

    @Override
    public synchronized void release() {
        watch.ifPresent(JobWatch::close);
        watch = Optional.empty();
    }

    /** Ends ranks that have outlived mpirun, which shows that mpirun was killed: otherwise it ends after them. */
    private void endOrphans(Process mpirun, int exitCode, Thread copier) throws InterruptedException {
        MpirunFamily.Orphans orphans = family(mpirun).orphans();
        if (orphans.endByThemselves() || ending() || hasNamedAFailure(copier)) {
            return;
        }
        died = Optional.of(ObservedFailure.mpirunEnded(exitCode));
        orphans.end();
    }

    private boolean hasNamedAFailure(Thread copier) throws InterruptedException {
        copier.join(LAST_WORDS_MILLIS);
        return firstFailure().isPresent();
    }

    @Override
    public Optional<ObservedFailure> firstFailure() {
        return died.or(said::firstFailure).or(() -> hydra.flatMap(this::firstFailure));
    }

    private Optional<ObservedFailure> firstFailure(HydraWords words) {
        try {
            return words.firstFailure(FailureRecord.readStarted(folder));
        } catch (IOException e) {
            return words.firstFailure(List.of());
        }
    }

    @Override
    public LastLines.Said lastLines(int ofRank) {
        return said.lastLines(ofRank);
    }

    private void acceptError(String line) {
        said.accept(line);
        hydra.ifPresent(words -> words.accept(line));
    }

    /** Byte for byte and at once, so that a progress bar of a rank looks as if nobody read along. */
    private void copyErrors(Process mpirun) {
        byte[] buffer = new byte[8192];
        var lines = new OutputLines(this::acceptError);
        var to = new FileOutputStream(FileDescriptor.err); // never closed: the launcher has something to say afterwards
        try (InputStream from = mpirun.getErrorStream()) {
            for (int length = from.read(buffer); length >= 0; length = from.read(buffer)) {
                to.write(buffer, 0, length);
                lines.accept(buffer, length);
            }
        } catch (IOException e) {
            return; // nobody reads our standard error any more
        }
    }

    /** Ends mpirun and its ranks. */
    @Override
    public synchronized void end() {
        ending = true;
        family.ifPresent(MpirunFamily::end);
    }

    private synchronized void killMpirun(Process mpirun) {
        family(mpirun).kill();
    }

    @Override
    public synchronized boolean ending() {
        return ending;
    }
}
