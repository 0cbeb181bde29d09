package io.hvd.command;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import io.hvd.testing.Job;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.jar.JarFile;
import java.util.jar.JarOutputStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The jar of everything, alone in a folder, in an environment of little but PATH, with the mpirun of this machine. */
@Timeout(400)
final class JarOfEverythingIT {

    private static final String JAVA =
            Path.of(System.getProperty("java.home"), "bin", "java").toString();
    private static final String HOME_OF_MPI = "HVD_OPENMPI_HOME";

    @TempDir
    private Path folder;

    private Path jar;

    @BeforeEach
    void copyTheJar() throws IOException {
        try (Stream<Path> files = Files.list(Path.of("target"))) {
            Path built = files.filter(file -> file.getFileName().toString().matches("hvd-launch-.*-all\\.jar"))
                    .findFirst()
                    .orElseThrow();
            jar = Files.copy(built, folder.resolve("hvd-launch.jar"));
        }
    }

    /** What mvn install takes along, for editors. */
    @Test
    void besideTheJarsOfTheApiLieTheirSources() throws IOException {
        assertThat(sources(Path.of("../hvd-core/target"))).contains("io/hvd/Hvd.java");
        assertThat(sources(Path.of("target"))).contains("io/hvd/launch/HvdLauncher.java");
    }

    private static List<String> sources(Path folder) throws IOException {
        try (Stream<Path> files = Files.list(folder)) {
            Path sources = files.filter(file -> file.toString().endsWith("-sources.jar"))
                    .findFirst()
                    .orElseThrow(() -> new AssertionError("no sources in " + folder));
            try (JarFile jar = new JarFile(sources.toFile())) {
                return jar.stream().map(entry -> entry.getName()).toList();
            }
        }
    }

    @Test
    void runStartsRanks() {
        Job job = hvd("run", "-np", "2", "sh", "-c", "echo rank $OMPI_COMM_WORLD_RANK");

        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(job.output().lines()).containsExactlyInAnyOrder("rank 0", "rank 1");
    }

    @Test
    void runRefusesAMistypedCommandBeforeAnythingStarts() {
        Job program = hvd("run", "-np", "2", "jva", "-jar", "train.jar");
        Job jarFile = hvd("run", "-np", "2", JAVA, "-jar", "hvd-lunch.jar");

        assertThat(program.exitCode()).isEqualTo(2);
        assertThat(program.output()).isEqualTo("horovodrun: there is no program jva on PATH [no-such-program]\n");
        assertThat(jarFile.exitCode()).isEqualTo(2);
        assertThat(jarFile.output())
                .contains("there is no file " + folder + "/hvd-lunch.jar; did you mean hvd-launch.jar?")
                .hasLineCount(1);
    }

    @Test
    void runWarnsWhereTheRanksMayFindWhatIsMissingHere() {
        Job job = hvd("run", "-np", "1", "-H", "elsewhere.invalid:1", "--start-timeout", "5", "jva");

        assertThat(job.exitCode()).isEqualTo(2);
        assertThat(job.output())
                .contains("on this machine there is no program jva", "the hosts of the ranks may have it");
    }

    /** The ranks of the self-test have their classes from the jar too. */
    @Test
    void doctorReportsAndItsRanksAgree() {
        Job job = hvd("doctor", "--json", "--self-test", "--only", "mpi", "-np", "2");

        assertThat(job.exitCode()).as(job.output()).isZero();
        JsonObject report = JsonParser.parseString(job.output()).getAsJsonObject();
        assertThat(report.get("errors").getAsInt()).isZero();
        assertThat(report.get("selfTest").getAsString()).contains("on 2 ranks is right");
    }

    @Test
    void doctorNamesTheJarInWhatItAdvises() {
        Job job = Job.run(words("/nowhere", "doctor", "-np", "1", "--only", "mpi"), Map.of());

        assertThat(job.exitCode()).as(job.output()).isEqualTo(1);
        assertThat(job.output()).contains("run       java -jar " + jar + " setup");
    }

    @Test
    void setupPutsTheJarOfAnOpenMpiIntoARepository() throws IOException {
        Path prefix = madeUpOpenMpi("9.8.7");
        List<String> words = words(System.getenv("PATH"), "setup", "--repository", folder + "/repository");
        words.add(words.indexOf(JAVA), HOME_OF_MPI + "=" + prefix);

        Job job = Job.run(words, Map.of());

        assertThat(job.exitCode()).as(job.output()).isZero();
        try (JarFile made = new JarFile(folder + "/repository/org/open-mpi/mpi-java/9.8.7/mpi-java-9.8.7.jar")) {
            assertThat(made.getManifest().getMainAttributes().getValue("Implementation-Version"))
                    .isEqualTo("9.8.7");
        }
    }

    @Test
    void withoutASubcommandTheUsageIsPrinted() {
        Job without = hvd();
        Job version = hvd("--version");

        assertThat(without.exitCode()).isEqualTo(2);
        assertThat(without.output()).contains("name a subcommand", "usage: ");
        assertThat(version.exitCode()).isZero();
        assertThat(version.output()).containsPattern("^\\d+\\.\\d+");
    }

    @Test
    void itHoldsClassesServicesAndLicencesAndNoTests() throws IOException {
        try (JarFile file = new JarFile(jar.toFile())) {
            List<String> names = file.stream().map(entry -> entry.getName()).toList();

            assertThat(names)
                    .contains(
                            "io/hvd/Hvd.class",
                            "io/hvd/doctor/HvdDoctor.class",
                            "META-INF/services/io.hvd.spi.GpuDriver",
                            "META-INF/LICENSE",
                            "META-INF/LICENSE.txt",
                            "META-INF/NOTICE.txt")
                    .noneMatch(name -> name.endsWith("module-info.class"))
                    .noneMatch(name -> name.contains("/testing/") || name.startsWith("org/junit"))
                    .noneMatch(name -> name.matches("META-INF/[^/]*\\.(SF|DSA|RSA)"));
            assertThat(new String(
                            file.getInputStream(file.getEntry("META-INF/LICENSE.txt"))
                                    .readAllBytes(),
                            StandardCharsets.UTF_8))
                    .contains("Apache License", "QOS.ch");
        }
    }

    private Job hvd(String... words) {
        return Job.run(words(System.getenv("PATH"), words), Map.of());
    }

    private List<String> words(String path, String... more) {
        List<String> words =
                new ArrayList<>(List.of("env", "-i", "-C", folder.toString(), "PATH=" + path, "HOME=" + folder));
        words.add(
                "HVD_CLASS_ARCHIVE=off"); // an archive would be written here after the job, while the folder is deleted
        if (System.getenv(HOME_OF_MPI) != null) {
            words.add(HOME_OF_MPI + "=" + System.getenv(HOME_OF_MPI));
        }
        words.addAll(List.of(JAVA, "-XX:TieredStopAtLevel=1", "-jar", "hvd-launch.jar"));
        words.addAll(List.of(more));
        return words;
    }

    private Path madeUpOpenMpi(String version) throws IOException {
        Path lib = Files.createDirectories(folder.resolve("openmpi/lib"));
        Path bin = Files.createDirectories(folder.resolve("openmpi/bin"));
        Path mpirun = Files.writeString(bin.resolve("mpirun"), "#!/bin/sh\necho 'mpirun (Open MPI) " + version + "'\n");
        assertThat(mpirun.toFile().setExecutable(true)).isTrue();
        Files.writeString(lib.resolve("libmpi.so"), "\0v" + version + "\0");
        Files.writeString(lib.resolve("libmpi_java.so"), "");
        new JarOutputStream(Files.newOutputStream(lib.resolve("mpi.jar"))).close();
        return folder.resolve("openmpi");
    }
}
