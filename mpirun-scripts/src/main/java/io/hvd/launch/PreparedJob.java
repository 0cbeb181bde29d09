package io.hvd.launch;

import io.hvd.launch.archive.ArchiveFolder;
import io.hvd.launch.archive.ClassArchive;
import io.hvd.launch.hosts.MachineFacts;
import io.hvd.launch.hosts.MachineSurvey;
import io.hvd.launch.hosts.OtherHosts;
import io.hvd.launch.jvm.InstalledJava;
import io.hvd.launch.jvm.JavaLine;
import io.hvd.launch.line.CommandCheck;
import io.hvd.launch.line.JobFacts;
import io.hvd.launch.line.MpirunLine;
import io.hvd.launch.mpi.MpiInstall;
import io.hvd.launch.mpi.OpenFileLimit;
import io.hvd.launch.options.LaunchSettings;
import io.hvd.launch.process.LaunchEnvironment;
import io.hvd.launch.words.UsageException;
import java.io.PrintStream;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * The mpirun line of a job, and all that it is made of: the installed MPI, the machine and the hosts, and the archive of the
 * program's classes. Nothing is started yet.
 */
record PreparedJob(MpiInstall install, JobFacts facts, ClassArchive archive, MpirunLine line) {

    /**
     * Looks at everything, and asks other hosts.
     *
     * @throws UsageException if the job cannot be started
     */
    static PreparedJob forRun(LaunchSettings settings, LaunchEnvironment around, PrintStream err)
            throws InterruptedException {
        MpiInstall install = MpiInstall.find(around.environment());
        install.requireRunsHvd();
        install.version().doubt().ifPresent(doubt -> err.println("hvd: " + doubt));
        JobFacts asked = facts(settings, install);
        CommandCheck.of(settings, install, around.folder())
                .obstacle()
                .ifPresent(obstacle -> report(obstacle, asked.allRanksHere(), err));
        asked.idleHosts().ifPresent(line -> err.println("horovodrun: " + line));
        OtherHosts hosts = otherHosts(asked);
        Map<String, Set<String>> others = hosts.checked(err);
        settings.network().interfaces().ifPresent(names -> hosts.checkInterfaces(names, others));
        PreparedJob prepared = of(install, asked, others, around.folder(), true);
        OpenFileLimit.require(Path.of("/"), asked.ranksHere());
        if (settings.verbose()) {
            err.print(install.version().text() + ", " + install.mpirun() + "\n" + prepared.line.explained());
        }
        return prepared;
    }

    /** The same from what is known already: a dry run asks nobody. */
    static PreparedJob forShow(LaunchSettings settings, Map<String, String> environment) {
        MpiInstall install = MpiInstall.find(environment);
        JobFacts asked = facts(settings, install);
        return of(install, asked, otherHosts(asked).known(), Path.of("").toAbsolutePath(), false);
    }

    private static JobFacts facts(LaunchSettings settings, MpiInstall install) {
        MachineFacts machine = new MachineSurvey(Path.of("/"), install.environment()).survey(settings.hosts());
        return new JobFacts(settings, machine, install.version());
    }

    private static OtherHosts otherHosts(JobFacts job) {
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
            MpiInstall install, JobFacts asked, Map<String, Set<String>> others, Path directory, boolean starts) {
        Map<String, String> environment = asked.machine().environment();
        Optional<JavaLine> java = JavaLine.of(asked.settings().command(), environment);
        ClassArchive archive = java.map(
                        line -> ClassArchive.look(asked, line, ArchiveFolder.of(environment), directory, starts))
                .orElse(ClassArchive.none(""));
        Optional<InstalledJava> installed =
                java.flatMap(line -> InstalledJava.of(line.program(), environment, directory));
        JobFacts job = asked.with(others);
        return new PreparedJob(
                install, job, archive, MpirunLine.of(install.command(), job, archive.forJava(), installed));
    }
}
