package io.hvd.launch;

import io.hvd.config.HvdConfig;
import io.hvd.config.LauncherSettings.ArchiveChoice;
import io.hvd.config.Secret;
import io.hvd.config.Setting;
import io.hvd.elastic.OpenCoordinator;
import io.hvd.error.HvdException;
import io.hvd.launch.archive.LauncherArchive;
import io.hvd.launch.direct.ElasticJob;
import io.hvd.launch.failure.JobFailureReport;
import io.hvd.launch.mpi.MpiInstall;
import io.hvd.launch.mpi.MpiVersion;
import io.hvd.launch.options.ElasticSettings;
import io.hvd.launch.options.HelpText;
import io.hvd.launch.options.LaunchOptions;
import io.hvd.launch.options.LaunchSettings;
import io.hvd.launch.process.LaunchEnvironment;
import io.hvd.launch.process.Terminal;
import io.hvd.launch.process.UserSignals;
import io.hvd.launch.words.UsageException;
import io.hvd.net.HandshakeListener;
import java.io.IOException;
import java.io.PrintStream;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * Starts a job: parses the flags, looks at the machine, runs mpirun or the ranks themselves, and exits with the job's exit
 * code.
 * A command line that cannot be carried out ends it with exit code 2 before anything starts.
 */
public final class Horovodrun {

    private static final int NOTHING_STARTED = 2;
    private static final int FAILED = 1;

    private final Map<String, String> environment;
    private final PrintStream out;
    private final PrintStream err;
    private final Optional<LauncherArchive> ownArchive = LauncherArchive.ofThisJvm();

    Horovodrun(Map<String, String> environment, PrintStream out, PrintStream err) {
        this.environment = environment;
        this.out = out;
        this.err = err;
    }

    /** Starts a job as the flags say, and ends this process with the job's exit code. */
    public static void main(String[] args) throws IOException, InterruptedException {
        System.exit(new Horovodrun(environment(), System.out, System.err).run(args));
    }

    /** A rank never sees the terminal itself; the examples show a progress bar only if told of one. */
    private static Map<String, String> environment() {
        Map<String, String> environment = new HashMap<>(System.getenv());
        if (Terminal.isOutput()) {
            environment.put(Setting.TERMINAL.variable(), "1");
        }
        return Map.copyOf(environment);
    }

    int run(String... args) throws IOException, InterruptedException {
        try {
            return perform(LaunchOptions.parse(environment, args));
        } catch (UsageException | HvdException e) {
            ownArchive.ifPresent(LauncherArchive::forget);
            err.println("horovodrun: " + e.getMessage());
            return NOTHING_STARTED;
        } catch (IOException e) {
            ownArchive.ifPresent(LauncherArchive::forget);
            err.println("horovodrun: the job could not be run: " + e);
            return NOTHING_STARTED;
        }
    }

    private int perform(LaunchSettings settings) throws IOException, InterruptedException {
        settings.notes().forEach(this::say);
        switch (settings.action()) {
            case HELP -> out.print(HelpText.text());
            case VERSION -> out.println(version());
            case CHECK_BUILD -> out.print(BuildCheck.look(environment).text(version()));
            case DRY_RUN -> dryRun(settings);
            case COORDINATE -> {
                ownArchive.ifPresent(LauncherArchive::forget);
                return coordinate(settings);
            }
            case RUN -> {
                int exitCode = launch(settings);
                ownArchive.ifPresent(own -> keep(own, exitCode, settings.java().archive()));
                return exitCode;
            }
        }
        ownArchive.ifPresent(LauncherArchive::forget);
        return 0;
    }

    private void dryRun(LaunchSettings settings) {
        PreparedJob prepared = PreparedJob.forShow(settings, environment, err);
        out.print(prepared.start().explained());
        prepared.install()
                .map(MpiInstall::version)
                .ifPresent(version -> tellWhatSpeaksAgainst(version, prepared.javaRelease()));
    }

    private void tellWhatSpeaksAgainst(MpiVersion version, OptionalInt java) {
        version.obstacle(java)
                .ifPresent(why -> err.println("horovodrun: nothing is started under " + version.text() + ": " + why
                        + "; the line is made after its manual"));
        version.doubt().ifPresent(doubt -> err.println("horovodrun: " + doubt));
    }

    private int coordinate(LaunchSettings settings) throws IOException, InterruptedException {
        ElasticSettings elastic = settings.elastic().orElseThrow();
        int startSeconds = settings.checks().limitSeconds();
        var terms = new OpenCoordinator.Terms(
                elastic.coordinatorPort().orElseThrow(),
                secret().bytes(HandshakeListener.SECRET_BYTES),
                ElasticJob.limits(elastic, settings.ranks(), startSeconds),
                Duration.ofSeconds(startSeconds),
                settings.network().ofLauncher(),
                settings.network().ports(),
                settings.network().encryption());
        try (OpenCoordinator coordinator = OpenCoordinator.start(terms, this::say)) {
            say("the coordinator of an elastic job of " + elastic.atLeast() + " to " + elastic.atMost()
                    + " ranks waits for them at port " + coordinator.port());
            String failure = coordinator.await();
            say("the elastic job has " + (failure.isEmpty() ? "ended" : "failed: " + failure));
            return failure.isEmpty() ? 0 : FAILED;
        }
    }

    private void say(String sentence) {
        err.println("horovodrun: " + sentence);
    }

    private Secret secret() {
        String name = Setting.SECRET.variable();
        return HvdConfig.from(Map.of(name, environment.getOrDefault(name, "")))
                .control()
                .secret()
                .orElseThrow(() -> new UsageException(
                        "secret-missing",
                        "--elastic-coordinator needs " + name
                                + ", by which it recognises the job's ranks: set it to the"
                                + " same random word here and for all of them"));
    }

    private int launch(LaunchSettings settings) throws IOException, InterruptedException {
        try (RestartedJob launch = RestartedJob.prepare(settings, LaunchEnvironment.of(environment), err)) {
            Runtime.getRuntime().addShutdownHook(new Thread(launch::end, "hvd-launch-end"));
            UserSignals.handTo(launch::send);
            JobLaunch.End end = launch.run();
            end.failure().map(JobFailureReport::text).ifPresent(err::print);
            if (end.exitCode() == 0
                    && ownArchive.filter(LauncherArchive::isToBeMade).isPresent()) {
                JobFailureReport.rehearse();
            }
            return end.exitCode();
        }
    }

    private void keep(LauncherArchive own, int exitCode, ArchiveChoice choice) {
        LauncherArchive.program(environment)
                .ifPresentOrElse(
                        program -> own.after(exitCode, program, environment, choice == ArchiveChoice.WAIT),
                        own::refuse);
    }

    private static String version() {
        String version = Horovodrun.class.getPackage().getImplementationVersion();
        return version == null ? "unpackaged" : version;
    }
}
