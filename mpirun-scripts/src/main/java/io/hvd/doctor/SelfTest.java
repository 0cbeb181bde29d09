package io.hvd.doctor;

import io.hvd.config.HvdProgram;
import io.hvd.doctor.checks.Diagnosis;
import io.hvd.doctor.checks.Finding;
import io.hvd.launch.Horovodrun;
import io.hvd.launch.hosts.HostSlots;
import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/** Runs an allreduce of two ranks under horovodrun: on this host, or on the first two of the host list. */
final class SelfTest {

    private static final int LIMIT_SECONDS = 60;
    private static final int LINES_SHOWN = 6;

    private final DoctorSettings settings;
    private final List<String> program;
    /** Null until it has begun. */
    private Process running;

    private boolean ended;

    SelfTest(DoctorSettings settings) {
        this(settings, List.of(java(), "-cp", classPath(), SelfTestRank.class.getName()));
    }

    /** @param program that both ranks run; it says {@link SelfTestRank#DONE} */
    SelfTest(DoctorSettings settings, List<String> program) {
        this.settings = settings;
        this.program = program;
    }

    /** @param line what the ranks say of it, where it went well */
    record Result(String line, Optional<Finding> finding) {}

    Result run() throws IOException, InterruptedException {
        Path log = Files.createTempFile("hvd-doctor", ".log");
        try {
            Runtime.getRuntime().addShutdownHook(new Thread(this::end, "hvd-doctor-self-test-end"));
            Process process = start(log);
            boolean ended = process.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS);
            process.destroy(); // horovodrun ends its ranks, also on other hosts
            process.waitFor();
            String said = Files.readString(log, StandardCharsets.UTF_8);
            return ended ? result(process.exitValue(), said) : failed("no end after " + LIMIT_SECONDS + " s", said);
        } finally {
            Files.delete(log);
        }
    }

    private synchronized Process start(Path log) throws IOException {
        if (ended) {
            throw new IOException("the self test was ended before it began");
        }
        running = new ProcessBuilder(words())
                .redirectErrorStream(true)
                .redirectInput(new File("/dev/null"))
                .redirectOutput(log.toFile())
                .start();
        return running;
    }

    private synchronized void end() {
        ended = true;
        if (running != null) {
            running.destroy();
        }
    }

    private Result result(int exitCode, String said) {
        return said.lines()
                .filter(line -> exitCode == 0 && line.startsWith(SelfTestRank.DONE))
                .findFirst()
                .map(line -> new Result(line, Optional.empty()))
                .orElseGet(() -> failed("exit code " + exitCode, said));
    }

    private Result failed(String how, String said) {
        List<String> lines = said.lines().toList();
        int shown = Math.max(0, lines.size() - LINES_SHOWN);
        String last = String.join("\n", lines.subList(shown, lines.size()));
        String error = lines.subList(0, shown).stream()
                .filter(line -> line.contains("[HVD-"))
                .findFirst()
                .map(line -> "; " + line.strip())
                .orElse("");
        List<String> hosts = settings.hosts().isEmpty()
                ? List.of("localhost")
                : hosts().stream().map(HostSlots::host).toList();
        return new Result(
                "",
                Optional.of(new Finding(
                        Diagnosis.SELF_TEST_FAILED,
                        hosts,
                        how + error + "; the last lines:\n" + last,
                        HvdProgram.DOCTOR.line() + " --only self-test --self-test" + flags())));
    }

    private String flags() {
        String ssh = String.join(" ", settings.ssh().words());
        return (settings.gloo() ? " --gloo" : "")
                + (settings.hosts().isEmpty() ? "" : " -H " + HostSlots.join(hosts()))
                + (ssh.isEmpty() ? "" : " " + ssh);
    }

    /** One rank on each of two hosts, or both on the only one. */
    private List<HostSlots> hosts() {
        List<HostSlots> all = settings.hosts();
        return all.size() == 1
                ? List.of(new HostSlots(all.get(0).host(), 2))
                : all.subList(0, 2).stream()
                        .map(host -> new HostSlots(host.host(), 1))
                        .toList();
    }

    private List<String> words() {
        List<String> words =
                new ArrayList<>(List.of(java(), "-cp", classPath(), Horovodrun.class.getName(), "-np", "2"));
        if (settings.gloo()) {
            words.add("--gloo");
        }
        if (!settings.hosts().isEmpty()) {
            words.addAll(List.of("-H", HostSlots.join(hosts())));
            words.addAll(settings.ssh().words());
        }
        if (!settings.interfaces().isEmpty()) {
            words.addAll(List.of("--network-interfaces", settings.interfaces()));
        }
        words.addAll(program);
        return words;
    }

    /** The jar of everything by its full path, which the other hosts have too. */
    private static String classPath() {
        return HvdProgram.jar().map(Path::toString).orElseGet(() -> System.getProperty("java.class.path"));
    }

    private static String java() {
        return Path.of(System.getProperty("java.home"), "bin", "java").toString();
    }
}
