package io.hvd.doctor;

import io.hvd.config.HvdProgram;
import io.hvd.doctor.checks.Check;
import io.hvd.doctor.checks.Diagnosis;
import io.hvd.doctor.checks.Finding;
import io.hvd.doctor.facts.HostInventory;
import io.hvd.doctor.facts.Probe;
import io.hvd.doctor.hosts.Agent;
import io.hvd.doctor.hosts.DoctorProgram;
import io.hvd.doctor.hosts.ExaminedHost;
import io.hvd.doctor.hosts.SshHost;
import io.hvd.doctor.hosts.ThisHost;
import io.hvd.launch.hosts.HostSlots;
import io.hvd.launch.hosts.MachineFacts;
import io.hvd.launch.hosts.MachineSurvey;
import io.hvd.launch.mpi.MpiInstall;
import io.hvd.launch.mpi.Starter;
import io.hvd.launch.words.UsageException;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;

/**
 * Looks at this machine, or at all hosts of a host list, for what keeps a job of hvd from starting or running well.
 * Ends with 0 if there is no error, 1 if there is one, 2 for a command line that cannot be understood.
 */
public final class HvdDoctor {

    /** Variables that a launcher keeps to itself; they are set if this runs inside a job. */
    private static final Set<String> SECRETS = Set.of("HOROVOD_SECRET_KEY", "HVD_LAUNCHER_ADDRESS");

    private static final int ERRORS = 1;
    private static final int USAGE = 2;
    private final Map<String, String> environment;
    private final Path root;
    private final PrintStream out;
    private final PrintStream err;

    HvdDoctor(Map<String, String> environment, Path root, PrintStream out, PrintStream err) {
        this.environment = environment;
        this.root = root;
        this.out = out;
        this.err = err;
    }

    public static void main(String[] args) throws IOException, InterruptedException {
        System.exit(new HvdDoctor(System.getenv(), Path.of("/"), System.out, System.err).run(args));
    }

    int run(String... args) throws IOException, InterruptedException {
        try {
            DoctorSettings settings =
                    DoctorOptions.parse(Starter.of(environment).in(environment), args);
            if (settings.help()) {
                out.print(DoctorOptions.help());
                return 0;
            }
            return settings.factsFor().isPresent() ? answer(settings.factsFor().get()) : examine(settings);
        } catch (UsageException e) {
            err.println("hvd-doctor: " + e.getMessage());
            return USAGE;
        }
    }

    /** Answers for this host, on which another one has started the doctor. Standard output belongs to the answers alone. */
    private int answer(String sshPath) throws IOException, InterruptedException {
        var in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        new Agent(new ThisHost(new Probe(root, environment, sshPath)), out).run(in);
        return 0;
    }

    private int examine(DoctorSettings settings) throws IOException, InterruptedException {
        List<Finding> findings;
        HostInventory inventory;
        try (var examination = new Examination(settings, examinedHosts(settings), handedOn())) {
            Runtime.getRuntime().addShutdownHook(new Thread(() -> end(examination), "hvd-doctor-end"));
            inventory = examination.examine();
            findings = new ArrayList<>(examination.failures());
        }
        otherNodes(settings).ifPresent(findings::add);
        Check.ALL.forEach(check -> findings.addAll(check.findings(inventory)));
        String selfTest = "";
        if (settings.selfTest()) {
            SelfTest.Result result = new SelfTest(settings).run();
            selfTest = result.line();
            result.finding().ifPresent(findings::add);
        }
        findings.removeIf(
                finding -> !settings.areas().contains(finding.diagnosis().area()));
        var report = new DoctorReport(inventory, findings, selfTest);
        out.print(settings.json() ? report.json() + System.lineSeparator() : ReportText.of(report));
        return report.hasErrors() ? ERRORS : 0;
    }

    /** They are not asked unless they are named: a node of Slurm's need not let anybody in by ssh. */
    private Optional<Finding> otherNodes(DoctorSettings settings) {
        MachineFacts machine = new MachineSurvey(root, environment).survey(List.of());
        List<HostSlots> nodes = machine.allocated();
        List<String> others = nodes.stream()
                .map(HostSlots::host)
                .filter(host -> !machine.is(host))
                .toList();
        if (!settings.hosts().isEmpty() || others.isEmpty()) {
            return Optional.empty();
        }
        String list = HostSlots.join(nodes);
        return Optional.of(new Finding(
                Diagnosis.ONE_NODE, others, "the job has " + list, HvdProgram.DOCTOR.line() + " -H " + list));
    }

    private static void end(Examination examination) {
        try {
            examination.close();
        } catch (IOException e) {
            // This process is ending, and with it the other hosts' input.
        }
    }

    private Map<String, ExaminedHost> examinedHosts(DoctorSettings settings) {
        MachineFacts machine = new MachineSurvey(root, environment).survey(settings.hosts());
        Map<String, ExaminedHost> examinedHosts = new LinkedHashMap<>();
        if (settings.hosts().isEmpty()) {
            examinedHosts.put(machine.hostname(), here());
        }
        for (HostSlots host : settings.hosts()) {
            examinedHosts.put(host.host(), machine.is(host.host()) ? here() : there(settings, host.host()));
        }
        return examinedHosts;
    }

    private ExaminedHost here() {
        return new ThisHost(new Probe(root, environment, environment.getOrDefault("PATH", "")));
    }

    private ExaminedHost there(DoctorSettings settings, String host) {
        DoctorProgram program = DoctorProgram.ofThisProcess()
                .orElseThrow(() -> new UsageException(
                        "no-program",
                        "the path of hvd-doctor is not known, so it cannot be started on " + host
                                + "; start mpirun-scripts/" + HvdProgram.DOCTOR.eitherWay() + ", not the class"));
        String ssh = MpiInstall.onPath("ssh", environment).map(Path::toString).orElse("ssh");
        return new SshHost(host, ssh, settings.ssh(), program, environment.getOrDefault("PATH", ""));
    }

    /** The variables that horovodrun gives to ranks on other hosts, as far as they concern hvd. */
    private Map<String, String> handedOn() {
        Map<String, String> settings = new TreeMap<>();
        environment.forEach((name, value) -> {
            if ((name.startsWith("HVD_") || name.startsWith("HOROVOD_")) && !SECRETS.contains(name)) {
                settings.put(name, value);
            }
        });
        return settings;
    }
}
