package io.hvd.doctor;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import io.hvd.testing.Job;
import io.hvd.testing.NamespaceHosts;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** hvd-doctor over hosts with a real sshd, which {@link NamespaceHosts} makes of this machine. */
@Tag("long")
@Timeout(240)
public final class DoctorHostsIT {

    private static final int LIMIT_SECONDS = 60;

    @TempDir
    private static Path folder;

    private static NamespaceHosts hosts;

    @BeforeAll
    static void startTheHosts() {
        hosts = new NamespaceHosts(folder);
        hosts.start("node-a", "node-b", "node-c");
        run("node-c", "hostname", "node-b");
        run("node-b", "mount", "-o", "remount,size=4m", "/dev/shm");
    }

    @AfterAll
    static void stopTheHosts() {
        hosts.stop();
    }

    @Test
    void threePlantedFaultsAreFoundAndNothingElseIsWrong() throws IOException {
        Path jar = HvdDoctorIT.jarOfVersion(folder.resolve("mpi.jar"), "5.0.7");

        Job job = doctor(Map.of("HVD_MPI_JAR", jar.toString()), "-H", "node-a:2,node-b:2,node-c:1", "--json");

        assertThat(job.exitCode()).as(job.output()).isEqualTo(1);
        Map<String, JsonObject> findings = HvdDoctorIT.findings(job);
        assertThat(hostsOf(findings, "HVD-D04")).containsExactly("node-a", "node-b", "node-c");
        assertThat(hostsOf(findings, "HVD-D60")).containsExactly("node-b", "node-c");
        assertThat(hostsOf(findings, "HVD-D40")).containsExactly("node-b");
        // What a machine that tests run on may have besides: no GPU, few cores, a slow network of its own.
        assertThat(findings.keySet())
                .isSubsetOf("HVD-D04", "HVD-D60", "HVD-D40", "HVD-D20", "HVD-D31", "HVD-D53", "HVD-D83", "HVD-D84");
    }

    @Test
    void theJarOfEverythingStartsItselfOnTheOtherHosts() throws IOException {
        Path jar = folder.resolve("hvd-launch.jar");
        try (Stream<Path> files = Files.list(Path.of("target"))) {
            Path built = files.filter(file -> file.toString().endsWith("-all.jar"))
                    .findFirst()
                    .orElseThrow();
            Files.copy(built, jar);
        }
        List<String> words = hosts.on(
                "node-a",
                List.of(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-jar",
                        jar.toString(),
                        "doctor",
                        "-p",
                        NamespaceHosts.PORT,
                        "-i",
                        hosts.key(),
                        "-H",
                        "node-a:1,node-c:1",
                        "--json",
                        "--only",
                        "java"));

        Job job = Job.run(words, environment(Map.of()));

        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(HvdDoctorIT.findings(job)).isEmpty();
    }

    @Test
    void everyHostMeasuresTheWayToEveryOther() {
        Job job = doctor(Map.of(), "-H", "node-a:1,node-b:1,node-c:1", "--json", "--only", "network");

        assertThat(job.exitCode()).as(job.output()).isZero();
        JsonArray links = JsonParser.parseString(job.output()).getAsJsonObject().getAsJsonArray("links");
        assertThat(links).hasSize(6);
        for (JsonElement one : links) {
            JsonObject link = one.getAsJsonObject();
            assertThat(link.get("network").getAsString()).as("not docker0").isEqualTo("eth0");
            assertThat(link.get("obstacle").getAsString()).isEmpty();
            assertThat(link.get("bytesPerSecond").getAsDouble()).isGreaterThan(1e6);
        }
    }

    @Test
    void theSelfTestHasOneRankOnEachOfTwoHosts() {
        Job job = doctor(Map.of(), "-H", "node-a:2,node-b:2", "--self-test", "--only", "mpi");

        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(job.output()).contains("floats on 2 ranks is right");
    }

    @Test
    void aHostThatKeepsItsPortsShutIsNamed() {
        // What comes back from this address goes nowhere, so that nobody gets through to it over eth0.
        run("node-c", "ip", "route", "add", "unreachable", "10.71.0.2");
        try {
            Job job = doctor(Map.of(), "-H", "node-b:1,node-c:1", "--json", "--only", "network");

            assertThat(job.exitCode()).as(job.output()).isEqualTo(1);
            assertThat(HvdDoctorIT.findings(job)).containsKey("HVD-D81");
        } finally {
            run("node-c", "ip", "route", "del", "unreachable", "10.71.0.2");
        }
    }

    @Test
    void aStrangersKeyIsAFindingOfEachHostAndTheRestIsExamined() {
        Job job = doctor(
                Map.of(),
                "-H",
                "node-a:1,node-b:1",
                "--json",
                "-i",
                folder.resolve("stranger").toString());

        assertThat(job.exitCode()).isEqualTo(1);
        JsonObject finding = HvdDoctorIT.findings(job).get("HVD-D70");
        assertThat(finding.get("found").getAsString()).contains("Permission denied");
        assertThat(finding.get("hosts").toString()).isEqualTo("[\"node-b\"]");
        assertThat(job.output()).contains("\"name\": \"node-a\"");
    }

    @Test
    void whereItIsKilledNothingStaysOnOtherHosts() throws Exception {
        List<String> words = words("-H", "node-a:1,node-b:1,node-c:1");
        var builder = new ProcessBuilder(words)
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .redirectError(ProcessBuilder.Redirect.DISCARD);
        builder.environment().putAll(environment(Map.of()));
        Process doctor = builder.start();
        ProcessHandle other = awaitOtherSide();

        doctor.destroyForcibly();

        other.onExit().get(LIMIT_SECONDS, TimeUnit.SECONDS);
        for (ProcessHandle one : otherSides()) { // a host that had just been reached ends a moment later
            one.onExit().get(LIMIT_SECONDS, TimeUnit.SECONDS);
        }
    }

    /** All hosts show this machine's processes. */
    private static ProcessHandle awaitOtherSide() {
        Instant limit = Instant.now().plus(Duration.ofSeconds(LIMIT_SECONDS));
        while (Instant.now().isBefore(limit)) {
            Optional<ProcessHandle> found = otherSides().stream().findFirst();
            if (found.isPresent()) {
                return found.get();
            }
            Thread.onSpinWait();
        }
        throw new AssertionError("hvd-doctor has started nothing on node-b within " + LIMIT_SECONDS + " s");
    }

    private static List<ProcessHandle> otherSides() {
        return ProcessHandle.allProcesses()
                .filter(one -> one.info()
                        .commandLine()
                        .filter(line -> line.contains("HvdCommand doctor --facts")
                                && line.contains(HvdDoctorIT.SCRIPT.toString()))
                        .isPresent())
                .toList();
    }

    private static List<String> hostsOf(Map<String, JsonObject> findings, String id) {
        assertThat(findings).containsKey(id);
        List<String> names = new ArrayList<>();
        findings.get(id).getAsJsonArray("hosts").forEach(host -> names.add(host.getAsString()));
        return names;
    }

    private static void run(String host, String... command) {
        Job job = Job.run(hosts.on(host, List.of(command)), Map.of());
        assertThat(job.exitCode()).as(job.output()).isZero();
    }

    private static Job doctor(Map<String, String> environment, String... flags) {
        return Job.run(words(flags), environment(environment));
    }

    /** On the first host, with the key that lets it in unless another one is given. */
    private static List<String> words(String... flags) {
        List<String> words = new ArrayList<>(List.of(HvdDoctorIT.SCRIPT.toString(), "-p", NamespaceHosts.PORT));
        words.addAll(List.of(flags));
        if (!words.contains("-i")) {
            words.addAll(List.of("-i", hosts.key()));
        }
        return hosts.on("node-a", words);
    }

    private static Map<String, String> environment(Map<String, String> more) {
        Map<String, String> all = new HashMap<>(more);
        all.put("HVD_THREADS_PER_RANK", "1");
        return all;
    }
}
