package io.hvd.doctor;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import io.hvd.testing.Job;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.jar.Attributes;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The script as users start it, on this machine. */
@Timeout(400)
final class HvdDoctorIT {

    static final Path SCRIPT =
            Path.of("..", "mpirun-scripts", "hvd-doctor").toAbsolutePath().normalize();

    @TempDir
    private Path folder;

    @Test
    void threePlantedFaultsAreFound() throws IOException {
        Path jar = jarOfVersion(folder.resolve("mpi.jar"), "3.9.9");
        // Two names of one machine are as near to a duplicate host name as one machine gets without root.
        String hosts = hostname() + ":2,127.0.0.1:2";

        Job job = inSmallSharedMemory(Map.of("HVD_MPI_JAR", jar.toString()), "-H", hosts, "--json");

        assertThat(job.exitCode()).as(job.output()).isEqualTo(1);
        Map<String, JsonObject> findings = findings(job);
        assertThat(findings).containsKeys("HVD-D04", "HVD-D61", "HVD-D40");
        assertThat(findings.get("HVD-D04").get("found").getAsString()).contains(jar + " is of version 3.9.9");
        assertThat(findings.get("HVD-D61").get("found").getAsString()).contains("are one machine, " + hostname());
        assertThat(findings.get("HVD-D40").get("found").getAsString()).contains("22 MiB", "free of 4 MiB");
    }

    /** JarOfEverythingIT has the same self-test. */
    @Test
    @Tag("long")
    void anAllreduceOfTwoRanksComesOutRight() {
        Job job = doctor(Map.of("HVD_THREADS_PER_RANK", "1"), "--self-test", "--only", "mpi", "-np", "2");

        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(job.output()).contains("self-test: allreduce of 3000001 floats on 2 ranks is right");
    }

    @Test
    void aSelfTestThatFailsShowsWhy() throws IOException {
        Path jar = jarOfVersion(folder.resolve("mpi.jar"), "3.9.9");

        Job job = doctor(Map.of("HVD_MPI_JAR", jar.toString()), "--self-test", "--only", "shm", "--json");

        assertThat(job.exitCode()).isEqualTo(1);
        assertThat(findings(job)).containsOnlyKeys("HVD-D95");
        assertThat(findings(job).get("HVD-D95").get("found").getAsString()).contains("HVD-105");
    }

    @Test
    void withoutMpiAndCudaTheRestIsLookedAt() {
        Job job = doctor(Map.of("PATH", tools().toString(), "HVD_BACKEND", "mpi"), "-np", "2");

        assertThat(job.exitCode()).as(job.output()).isEqualTo(1);
        assertThat(job.output())
                .contains(
                        "HVD-D01 error",
                        "horovodrun --gloo and HVD_RENDEZVOUS need none",
                        "memory    2 x (",
                        "MPI       none")
                .contains("run       mpirun-scripts/setup.sh");
    }

    @Test
    void whereMpiIsNotAskedForItIsNotMissedAndTwoRanksComputeWithoutIt() throws IOException {
        Path tools = tools();
        Files.createSymbolicLink(tools.resolve("sh"), Path.of("/bin/sh"));

        Job job = doctor(Map.of("PATH", tools.toString()), "-np", "2", "--self-test");

        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(job.output()).contains(SelfTestRank.DONE).doesNotContain("HVD-D01");
    }

    @Test
    void aRemoteHostWithoutJavaSaysSoByTheScriptsExitCode() {
        Job job = Job.run(
                List.of("/bin/sh", SCRIPT.toString(), "--facts", "x"),
                Map.of("PATH", tools().toString(), "JAVA_HOME", ""));

        assertThat(job.exitCode()).as(job.output()).isEqualTo(3);
        assertThat(job.output()).contains("no program java");
    }

    private Job inSmallSharedMemory(Map<String, String> environment, String... flags) {
        assumeTrue(System.getProperty("user.name").equals("root"), "needs root, to mount a small /dev/shm");
        List<String> words = new ArrayList<>(List.of(
                "unshare",
                "--mount",
                "sh",
                "-c",
                "mount -t tmpfs -o size=4m tmpfs /dev/shm && exec \"$@\"",
                "sh",
                SCRIPT.toString()));
        words.addAll(List.of(flags));
        return Job.run(words, withJava(environment));
    }

    private static Job doctor(Map<String, String> environment, String... flags) {
        List<String> words = new ArrayList<>(List.of("/bin/sh", SCRIPT.toString()));
        words.addAll(List.of(flags));
        return Job.run(words, withJava(environment));
    }

    private static Map<String, String> withJava(Map<String, String> environment) {
        Map<String, String> all = new HashMap<>(environment);
        all.put("JAVA_HOME", System.getProperty("java.home"));
        return all;
    }

    static Map<String, JsonObject> findings(Job job) {
        Map<String, JsonObject> found = new HashMap<>();
        String json = job.output().substring(job.output().indexOf('{'));
        for (JsonElement one : JsonParser.parseString(json).getAsJsonObject().getAsJsonArray("findings")) {
            found.put(one.getAsJsonObject().get("id").getAsString(), one.getAsJsonObject());
        }
        return found;
    }

    static Path jarOfVersion(Path file, String version) throws IOException {
        var manifest = new Manifest();
        manifest.getMainAttributes().put(Attributes.Name.MANIFEST_VERSION, "1.0");
        manifest.getMainAttributes().put(Attributes.Name.IMPLEMENTATION_VERSION, version);
        try (OutputStream out = Files.newOutputStream(file)) {
            new JarOutputStream(out, manifest).close();
        }
        return file;
    }

    private static String hostname() throws IOException {
        return Files.readString(Path.of("/proc/sys/kernel/hostname")).strip();
    }

    /** A PATH with what the script calls, and neither java nor mpirun. */
    private Path tools() {
        try {
            for (String tool : List.of("readlink", "dirname", "ls")) {
                Path caller = folder.resolve(tool);
                Files.writeString(caller, "#!/bin/sh\nexec /usr/bin/" + tool + " \"$@\"\n");
                caller.toFile().setExecutable(true);
            }
            return folder;
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }
}
