package io.hvd.launch;

import io.hvd.config.LauncherSettings.ArchiveChoice;
import io.hvd.config.Setting;
import io.hvd.error.FailureRecord;
import io.hvd.launch.failure.FailureDirectory;
import io.hvd.launch.failure.JobFailureReport;
import io.hvd.launch.failure.ObservedFailure;
import io.hvd.launch.line.LaunchFacts;
import io.hvd.launch.options.LaunchSettings;
import io.hvd.launch.process.LaunchEnvironment;
import io.hvd.launch.process.LauncherServer;
import io.hvd.launch.process.StartedJob;
import io.hvd.launch.words.UsageException;
import io.hvd.net.HostAddress;
import io.hvd.net.LauncherAddress;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.function.IntConsumer;

/**
 * One job from its start to its end, with the folder and the server for what its ranks leave, and afterwards with the
 * reason of its failure. One thread runs it; another one may end it.
 */
final class JobLaunch implements AutoCloseable {

    private final FailureDirectory folder;
    private final Optional<LauncherServer> server;
    private final StartedJob job;
    private final IntConsumer afterwards;
    private final FailureScene scene;

    private JobLaunch(
            FailureDirectory folder,
            Optional<LauncherServer> server,
            StartedJob job,
            IntConsumer afterwards,
            FailureScene scene) {
        this.folder = folder;
        this.server = server;
        this.job = job;
        this.afterwards = afterwards;
        this.scene = scene;
    }

    /**
     * The end of a job.
     *
     * @param failure empty if it has succeeded, or was ended from here
     */
    record End(int exitCode, Optional<JobFailureReport> failure) {}

    /**
     * Looks at everything; nothing is started yet.
     *
     * @throws UsageException if the job cannot be started
     */
    static JobLaunch prepare(LaunchSettings settings, LaunchEnvironment around, PrintStream err)
            throws IOException, InterruptedException {
        PreparedJob prepared = PreparedJob.forRun(settings, around, err);
        var folder = new FailureDirectory();
        try {
            return of(prepared, folder, settings, around);
        } catch (IOException | RuntimeException e) {
            folder.close();
            throw e;
        }
    }

    private static JobLaunch of(
            PreparedJob prepared, FailureDirectory folder, LaunchSettings settings, LaunchEnvironment around)
            throws IOException {
        LaunchFacts facts = prepared.facts();
        boolean allHere = facts.allRanksHere();
        Optional<LauncherServer> server = allHere ? Optional.empty() : Optional.of(server(folder, settings, around));
        Map<String, String> variables = variables(folder, server);
        facts.declared().ifPresent(declared -> variables.put(Setting.DECLARED_JOB.variable(), declared));
        boolean waits = settings.java().archive() == ArchiveChoice.WAIT;
        return new JobLaunch(
                folder,
                server,
                prepared.start().job(variables, folder.path(), around),
                exitCode -> prepared.archive().after(exitCode, facts.machine().environment(), waits),
                FailureScene.now(settings, around, allHere));
    }

    private static Map<String, String> variables(FailureDirectory folder, Optional<LauncherServer> server) {
        Map<String, String> variables = new HashMap<>();
        variables.put(FailureRecord.DIRECTORY_VARIABLE, folder.path().toString());
        server.ifPresent(
                open -> variables.put(LauncherAddress.VARIABLE, open.address().encode()));
        return variables;
    }

    private static LauncherServer server(FailureDirectory folder, LaunchSettings settings, LaunchEnvironment around)
            throws IOException {
        settings.network().encryption().requireKey();
        return LauncherServer.open(
                folder.path(),
                around.takesResults(),
                settings.network().ofLauncher(),
                settings.network().ports(),
                settings.network().encryption());
    }

    End run() throws IOException, InterruptedException {
        int exitCode = job.run();
        afterwards.accept(exitCode);
        if (job.ending() || exitCode == 0 && !folder.hasEarlyEnd()) {
            return new End(exitCode, Optional.empty());
        }
        if (folder.hasGoodEnd() && folder.records().isEmpty()) {
            return new End(0, Optional.empty());
        }
        Optional<ObservedFailure> seen = job.firstFailure();
        var report = new JobFailureReport(
                folder.records(HostAddress.localName()), seen, exitCode, scene.evidence(seen, job));
        return new End(report.exitCode(), Optional.of(report));
    }

    /** The folder in which the ranks' results lie once the job has ended. */
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
}
