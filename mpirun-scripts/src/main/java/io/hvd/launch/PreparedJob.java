package io.hvd.launch;

import io.hvd.launch.archive.ArchiveFolder;
import io.hvd.launch.archive.ClassArchive;
import io.hvd.launch.direct.DirectPlan;
import io.hvd.launch.hosts.MachineFacts;
import io.hvd.launch.hosts.MachineSurvey;
import io.hvd.launch.hosts.OtherHosts;
import io.hvd.launch.jvm.InstalledJava;
import io.hvd.launch.jvm.JavaLine;
import io.hvd.launch.line.CommandCheck;
import io.hvd.launch.line.LaunchFacts;
import io.hvd.launch.line.MpirunLine;
import io.hvd.launch.mpi.MpiInstall;
import io.hvd.launch.mpi.MpiVersion;
import io.hvd.launch.mpi.OpenFileLimit;
import io.hvd.launch.mpi.Starter;
import io.hvd.launch.options.LaunchSettings;
import io.hvd.launch.process.LaunchEnvironment;
import io.hvd.launch.words.UsageException;
import java.io.PrintStream;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;

/**
 * A job that is not started yet, and all that its start is made of: the installed MPI, if one is used, the machine and the
 * hosts, and the archive of the program's classes.
 */
record PreparedJob(
        Optional<MpiInstall> install,
        LaunchFacts facts,
        ClassArchive archive,
        Optional<InstalledJava> java,
        Start start) {

    /**
     * Looks at everything, and asks other hosts.
     *
     * @throws UsageException if the job cannot be started
     */
    static PreparedJob forRun(LaunchSettings settings, LaunchEnvironment around, PrintStream err)
            throws InterruptedException {
        Optional<MpiInstall> install = install(settings, around.environment(), around.folder(), err);
        install.ifPresent(found -> found.requireRunsHvd(release(java(settings, found.environment(), around.folder()))));
        install.flatMap(found -> found.version().doubt()).ifPresent(doubt -> err.println("hvd: " + doubt));
        LaunchFacts asked = facts(settings, around.environment(), install);
        CommandCheck.of(settings, asked.machine().environment(), around.folder())
                .obstacle()
                .ifPresent(obstacle -> report(obstacle, asked.allRanksHere(), err));
        asked.idleHosts().ifPresent(line -> err.println("horovodrun: " + line));
        OtherHosts hosts = otherHosts(asked);
        Map<String, Set<String>> others = hosts.checked(err);
        settings.network().interfaces().ifPresent(names -> hosts.checkInterfaces(names, others));
        PreparedJob prepared = of(install, asked, others, around.folder(), true);
        install.ifPresent(found -> OpenFileLimit.require(Path.of("/"), asked.ranksHere()));
        if (settings.verbose()) {
            install.ifPresent(found -> err.println(found.version().text() + ", " + found.mpirun()));
            err.print(prepared.start.explained());
        }
        return prepared;
    }

    /** The same from what is known already: a dry run asks nobody. */
    static PreparedJob forShow(LaunchSettings settings, Map<String, String> environment, PrintStream err) {
        Path directory = Path.of("").toAbsolutePath();
        Optional<MpiInstall> install = install(settings, environment, directory, err);
        LaunchFacts asked = facts(settings, environment, install);
        return of(install, asked, otherHosts(asked).known(), directory, false);
    }

    /**
     * Empty if the launcher is to start the ranks itself, as it also does where it may, and MPI is missing or cannot.
     *
     * @throws UsageException if nothing can be started here
     */
    private static Optional<MpiInstall> install(
            LaunchSettings settings, Map<String, String> environment, Path directory, PrintStream err) {
        SupportedSystem.require(System.getProperty("os.name"));
        if (settings.starter() == Starter.HOROVODRUN) {
            return Optional.empty();
        }
        if (settings.starter() == Starter.EITHER && MpiInstall.isMissing(environment)) {
            err.println("horovodrun: there is no mpirun on PATH, so the ranks are started without MPI, as by --gloo");
            return Optional.empty();
        }
        MpiInstall found = MpiInstall.find(environment);
        Optional<String> obstacle = found.version()
                .obstacle(release(java(settings, environment, directory)))
                .or(() -> withoutMeeting(found.version(), environment));
        if (settings.starter() == Starter.EITHER && obstacle.isPresent()) {
            err.println("horovodrun: mpirun is " + found.version().text() + ": " + obstacle.get()
                    + "; the ranks are started without MPI, as by --gloo");
            return Optional.empty();
        }
        return Optional.of(found);
    }

    /** Open MPI's mpirun tells its ranks where it is itself, so that they can meet there for TCP. */
    private static Optional<String> withoutMeeting(MpiVersion version, Map<String, String> environment) {
        return version.startsWithHydra()
                        && environment.getOrDefault("HVD_BACKEND", "").equalsIgnoreCase("tcp")
                ? Optional.of("HVD_BACKEND=tcp needs no MPI, and this one does not tell ranks where to meet")
                : Optional.empty();
    }

    private static Optional<InstalledJava> java(
            LaunchSettings settings, Map<String, String> environment, Path directory) {
        return JavaLine.of(settings.command(), environment)
                .flatMap(line -> InstalledJava.of(line.program(), environment, directory));
    }

    private static OptionalInt release(Optional<InstalledJava> java) {
        return java.map(InstalledJava::release).map(OptionalInt::of).orElse(OptionalInt.empty());
    }

    /** The feature release of the ranks' Java; empty if it is not known. */
    OptionalInt javaRelease() {
        return release(java);
    }

    private static LaunchFacts facts(
            LaunchSettings settings, Map<String, String> environment, Optional<MpiInstall> install) {
        Map<String, String> theirs = install.map(MpiInstall::environment).orElse(environment);
        MachineFacts machine = new MachineSurvey(Path.of("/"), theirs).survey(settings.hosts());
        return new LaunchFacts(
                settings, machine, install.map(MpiInstall::version).orElse(MpiVersion.NONE));
    }

    private static OtherHosts otherHosts(LaunchFacts job) {
        LaunchSettings settings = job.settings();
        return new OtherHosts(settings.hosts(), settings.ssh(), settings.checks(), job.machine());
    }

    /** A host that runs ranks may have what this one lacks. */
    private static void report(UsageException obstacle, boolean allHere, PrintStream err) {
        if (allHere) {
            throw obstacle;
        }
        err.println("hvd: on this machine " + obstacle.getMessage() + "; the hosts of the ranks may have it");
    }

    /** @param starts whether ranks are going to be started */
    private static PreparedJob of(
            Optional<MpiInstall> install,
            LaunchFacts asked,
            Map<String, Set<String>> others,
            Path directory,
            boolean starts) {
        Map<String, String> environment = asked.machine().environment();
        Optional<JavaLine> java = JavaLine.of(asked.settings().command(), environment);
        ClassArchive archive = java.map(
                        line -> ClassArchive.look(asked, line, ArchiveFolder.of(environment), directory, starts))
                .orElse(ClassArchive.none(""));
        Optional<InstalledJava> installed = java(asked.settings(), environment, directory);
        LaunchFacts job = asked.with(others);
        Start start = install.<Start>map(found ->
                        new MpirunStart(found, MpirunLine.of(found.command(), job, archive.forJava(), installed)))
                .orElseGet(() -> new DirectStart(DirectPlan.of(job, archive.forJava(), installed)));
        return new PreparedJob(install, job, archive, installed, start);
    }
}
