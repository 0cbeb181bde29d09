package io.hvd.launch;

import io.hvd.error.FailureRecord;
import io.hvd.error.HvdException;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;

/**
 * Starts a job: parses the flags, looks at the machine, runs mpirun and exits with its exit code.
 * A command line that cannot be carried out ends it with exit code 2 before anything starts.
 */
public final class Horovodrun {

    private static final int USAGE = 2;

    private final Map<String, String> environment;
    private final PrintStream out;
    private final PrintStream err;

    Horovodrun(Map<String, String> environment, PrintStream out, PrintStream err) {
        this.environment = environment;
        this.out = out;
        this.err = err;
    }

    public static void main(String[] args) throws IOException, InterruptedException {
        System.exit(new Horovodrun(System.getenv(), System.out, System.err).run(args));
    }

    int run(String... args) throws IOException, InterruptedException {
        try {
            return perform(LaunchOptions.parse(environment, args));
        } catch (UsageException | HvdException e) {
            err.println("horovodrun: " + e.getMessage());
            return USAGE;
        }
    }

    private int perform(LaunchSettings settings) throws IOException, InterruptedException {
        settings.notes().forEach(note -> err.println("horovodrun: " + note));
        switch (settings.action()) {
            case HELP -> out.print(HelpText.text());
            case VERSION -> out.println(version());
            case CHECK_BUILD -> out.print(BuildCheck.look(environment).text(version()));
            case DRY_RUN -> dryRun(settings);
            case RUN -> {
                return launch(settings);
            }
        }
        return 0;
    }

    private void dryRun(LaunchSettings settings) {
        MpiInstall install = MpiInstall.find(environment);
        Machine machine = machine(settings, install);
        var hosts = new OtherHosts(settings, machine);
        out.print(line(settings, install, machine, hosts.known()).explained());
        if (!install.version().runsHvd()) {
            err.println("horovodrun: " + install.version().text() + " cannot run hvd, whose MPI back end needs the Java"
                    + " bindings of Open MPI; the line is made after its manual");
        }
    }

    private int launch(LaunchSettings settings) throws IOException, InterruptedException {
        MpiInstall install = MpiInstall.find(environment);
        install.requireRunsHvd();
        Machine machine = machine(settings, install);
        var hosts = new OtherHosts(settings, machine);
        Map<String, Set<String>> others = hosts.checked();
        hosts.checkInterfaces(others);
        MpirunLine line = line(settings, install, machine, others);
        if (settings.verbose()) {
            err.print(install.version().text() + ", " + install.mpirun() + "\n" + line.explained());
        }
        try (var failures = new FailureDirectory()) {
            return run(line, install, failures);
        }
    }

    private int run(MpirunLine line, MpiInstall install, FailureDirectory failures)
            throws IOException, InterruptedException {
        Map<String, String> jobEnvironment = new HashMap<>(install.environment());
        jobEnvironment.put(FailureRecord.DIRECTORY_VARIABLE, failures.path().toString());
        var job = new MpiJob(line.words(), jobEnvironment);
        Runtime.getRuntime().addShutdownHook(new Thread(() -> end(job, failures), "hvd-launch-end"));
        int exitCode = job.run();
        if (exitCode != 0 && !job.ending()) {
            job.firstFailure()
                    .ifPresent(first -> err.println("horovodrun: " + first + ", and mpirun ended the other ranks"));
            err.print(FailureReport.of(failures.records(), exitCode));
        }
        return exitCode;
    }

    private void end(MpiJob job, FailureDirectory failures) {
        job.end();
        try {
            failures.close();
        } catch (IOException e) {
            err.println("horovodrun: " + failures.path() + " could not be deleted: " + e);
        }
    }

    private static Machine machine(LaunchSettings settings, MpiInstall install) {
        return new MachineSurvey(Path.of("/"), install.environment()).survey(settings.hosts());
    }

    private static MpirunLine line(
            LaunchSettings settings, MpiInstall install, Machine machine, Map<String, Set<String>> others) {
        return MpirunLine.of(install.command(), new Job(settings, machine, install.version(), others));
    }

    private static String version() {
        String version = Horovodrun.class.getPackage().getImplementationVersion();
        return version == null ? "unpackaged" : version;
    }
}
