package io.hvd.launch;

import io.hvd.config.LauncherSettings.ArchiveChoice;
import io.hvd.config.Setting;
import io.hvd.error.FailureRecord;
import io.hvd.net.LauncherAddress;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Path;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.IntConsumer;
import java.util.stream.Stream;

/**
 * One job from its settings to its end: looks at the machine and at the hosts, runs mpirun, and knows afterwards what
 * has failed. One thread runs it; another one may end it.
 */
final class Launch implements AutoCloseable {

    private final FailureDirectory folder;
    private final Optional<LauncherServer> server;
    private final MpiJob job;
    private final IntConsumer afterwards;
    private final Scene scene;

    private Launch(
            FailureDirectory folder, Optional<LauncherServer> server, MpiJob job, IntConsumer afterwards, Scene scene) {
        this.folder = folder;
        this.server = server;
        this.job = job;
        this.afterwards = afterwards;
        this.scene = scene;
    }

    /**
     * What is needed to look for reasons when a process has ended without a record.
     *
     * @param ranks how many there are
     * @param allHere whether they run on this machine, on which the kernel's counters are read
     */
    private record Scene(int ranks, boolean allHere, CrashFile.Places places, MemoryKills before) {

        static Scene now(LaunchSettings settings, LaunchEnvironment around, boolean allHere) {
            List<String> words = Stream.concat(
                            settings.command().stream(),
                            JavaLine.VARIABLES.stream()
                                    .flatMap(name -> Stream.of(around.environment()
                                            .getOrDefault(name, "")
                                            .split("\\s+"))))
                    .toList();
            // The clock of a file system may be a second coarse.
            var places =
                    new CrashFile.Places(around.folder(), words, Instant.now().truncatedTo(ChronoUnit.SECONDS));
            return new Scene(settings.ranks(), allHere, places, MemoryKills.now(Path.of("/")));
        }

        Evidence evidence(Optional<ObservedFailure> seen, MpiJob job) {
            int rank = seen.map(ObservedFailure::rank).orElse(ObservedFailure.NO_RANK);
            String said = seen.map(ObservedFailure::words).orElse("");
            List<String> crash = CrashFile.find(places, said);
            boolean isExplained =
                    !crash.isEmpty() || seen.filter(ObservedFailure::bySignal).isPresent();
            LastLines.Said last = isExplained ? LastLines.NOTHING : job.lastLines(rank);
            String whose = ranks == 1 ? "the rank" : last.areOfOne() ? "rank " + rank : "all ranks together";
            String killer = allHere ? MemoryKills.now(Path.of("/")).since(before) : "";
            return new Evidence(last.lines(), whose, crash, killer);
        }
    }

    /**
     * How a job has ended.
     *
     * @param failure empty if it has succeeded, or was ended from here
     */
    record Outcome(int exitCode, Optional<FailureReport> failure) {}

    /**
     * Looks at everything; nothing is started yet.
     *
     * @throws UsageException if the job cannot be started
     */
    static Launch prepare(LaunchSettings settings, LaunchEnvironment around, PrintStream err)
            throws IOException, InterruptedException {
        MpiInstall install = MpiInstall.find(around.environment());
        install.requireRunsHvd();
        install.version().doubt().ifPresent(doubt -> err.println("hvd: " + doubt));
        Machine machine = machine(settings, install);
        var asked = new Job(settings, machine, install.version());
        boolean allHere = asked.allRanksHere();
        CommandCheck.of(settings, install, around).obstacle().ifPresent(obstacle -> report(obstacle, allHere, err));
        asked.idleHosts().ifPresent(line -> err.println("horovodrun: " + line));
        var hosts = new OtherHosts(settings, machine);
        Map<String, Set<String>> others = hosts.checked(err);
        hosts.checkInterfaces(others);
        ClassArchive archive = archive(asked, around.folder(), true);
        Job job = asked.with(others);
        MpirunLine line = line(install, job, archive, around.folder());
        OpenFileLimit.require(Path.of("/"), asked.ranksHere());
        if (settings.verbose()) {
            err.print(install.version().text() + ", " + install.mpirun() + "\n" + line.explained());
        }
        var folder = new FailureDirectory();
        try {
            Optional<LauncherServer> server =
                    allHere ? Optional.empty() : Optional.of(server(folder, settings, around));
            Map<String, String> environment = environment(install, folder, server);
            job.declared().ifPresent(declared -> environment.put(Setting.DECLARED_JOB.variable(), declared));
            boolean waits = settings.java().archive() == ArchiveChoice.WAIT;
            return new Launch(
                    folder,
                    server,
                    new MpiJob(line.words(), environment, folder.path(), around),
                    exitCode -> archive.after(exitCode, install.environment(), waits),
                    Scene.now(settings, around, allHere));
        } catch (IOException e) {
            folder.close();
            throw e;
        }
    }

    static MpirunLine line(MpiInstall install, Job job, ClassArchive archive, Path directory) {
        Map<String, String> environment = job.machine().environment();
        Optional<InstalledJava> java = JavaLine.of(job.settings().command(), environment)
                .flatMap(line -> InstalledJava.of(line.program(), environment, directory));
        return MpirunLine.of(install.command(), job, archive, java);
    }

    /** A host that runs ranks may have what this one lacks. */
    private static void report(UsageException obstacle, boolean allHere, PrintStream err) {
        if (allHere) {
            throw obstacle;
        }
        err.println("hvd: on this machine " + obstacle.getMessage() + "; the hosts of the ranks may have it");
    }

    private static Map<String, String> environment(
            MpiInstall install, FailureDirectory folder, Optional<LauncherServer> server) {
        Map<String, String> environment = new HashMap<>(install.environment());
        environment.put(FailureRecord.DIRECTORY_VARIABLE, folder.path().toString());
        server.ifPresent(
                open -> environment.put(LauncherAddress.VARIABLE, open.address().encode()));
        return environment;
    }

    private static LauncherServer server(FailureDirectory folder, LaunchSettings settings, LaunchEnvironment around)
            throws IOException {
        return LauncherServer.open(
                folder.path(),
                around.takesResults(),
                settings.network().interfaces().orElse(""));
    }

    Outcome run() throws IOException, InterruptedException {
        int exitCode = job.run();
        afterwards.accept(exitCode);
        if (exitCode == 0 || job.ending()) {
            return new Outcome(exitCode, Optional.empty());
        }
        if (folder.hasGoodEnd() && folder.records().isEmpty()) {
            return new Outcome(0, Optional.empty());
        }
        Optional<ObservedFailure> seen = job.firstFailure();
        var report = new FailureReport(folder.records(), seen, exitCode, scene.evidence(seen, job));
        return new Outcome(report.exitCode(), Optional.of(report));
    }

    /** Where the ranks' results lie once the job has ended. */
    Path folder() {
        return folder.path();
    }

    /** Hands a signal on to the ranks. */
    void send(String signal) {
        job.send(signal);
    }

    /** Ends the job, if it runs; what it has left can still be read. */
    void stop() {
        job.end();
    }

    /** Ends the job and deletes what it has left; safe at any time. */
    void end() {
        job.end();
        try {
            close();
        } catch (IOException e) {
            System.err.println("horovodrun: " + folder.path() + " could not be deleted: " + e);
        }
    }

    @Override
    public void close() throws IOException {
        if (server.isPresent()) {
            server.get().close();
        }
        folder.close();
        job.release();
    }

    static Machine machine(LaunchSettings settings, MpiInstall install) {
        return new MachineSurvey(Path.of("/"), install.environment()).survey(settings.hosts());
    }

    /** @param starts whether ranks are going to be started with it */
    static ClassArchive archive(Job job, Path directory, boolean starts) {
        Map<String, String> environment = job.machine().environment();
        return JavaLine.of(job.settings().command(), environment)
                .map(java -> ClassArchive.look(job, java, ArchiveFolder.of(environment), directory, starts))
                .orElse(ClassArchive.none(""));
    }
}
