package io.hvd.repository;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import java.io.File;
import java.io.IOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * hvd as others get it: deployed into a folder that serves as a repository, and taken from there by a project with an
 * empty local repository of its own. Maven takes everything else from Maven Central.
 */
@Tag("long")
@Timeout(value = 20, unit = TimeUnit.MINUTES)
class RepositoryIT {
    private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();
    private static final Set<String> NOT_COPIED = Set.of("target", ".git", "img");

    @TempDir
    private static Path folder;

    private static Path repository;

    @BeforeAll
    static void deploy() throws Exception {
        Path sources = copy(ROOT, folder.resolve("sources"));
        repository = folder.resolve("repository");
        run(
                sources,
                "mvn",
                "-B",
                "-ntp",
                "-q",
                "-Prelease",
                "-DskipTests",
                "deploy",
                "-DaltDeploymentRepository=folder::" + repository.toUri());
    }

    @Test
    void everyJarHasItsSourcesAndItsJavadoc() throws Exception {
        for (String jar :
                List.of("hvd-core", "hvd-launch", "hvd-optimizer", "hvd-parquet", "hvd-transformers", "hvd-spark")) {
            assertThat(deployed(repository, jar))
                    .as(jar)
                    .anyMatch(name -> name.endsWith("-sources.jar"))
                    .anyMatch(name -> name.endsWith("-javadoc.jar"))
                    .anyMatch(name -> name.endsWith(".pom"));
        }
        assertThat(entries(jar("hvd-core", "-javadoc")))
                .contains("io.hvd.core/io/hvd/Hvd.html")
                .noneMatch(entry -> entry.contains("io/hvd/engine/"));
        assertThat(deployed(repository, "hvd-launch")).anyMatch(name -> name.endsWith("-all.jar"));
        assertThat(repository.resolve("io/hvd/hvd-bom")).isDirectory();
        assertThat(repository.resolve("io/hvd/hvd-examples")).doesNotExist();
    }

    @Test
    void aProjectThatKnowsOnlyTheRepositoryTrains() throws Exception {
        Path trainer = copy(ROOT.resolve("docs/array-trainer"), folder.resolve("trainer"));
        run(
                trainer,
                "mvn",
                "-B",
                "-ntp",
                "-q",
                "package",
                "-Dhvd.repository=" + repository.toUri(),
                "-Dmaven.repo.local=" + folder.resolve("local"));

        assertThat(names(trainer.resolve("target/lib")).map(name -> name.replaceFirst("-[0-9].*", "")))
                .containsExactlyInAnyOrder("hvd-core", "hvd-optimizer", "slf4j-api", "slf4j-simple");
        assertThat(run(trainer, "java", "-jar", "target/array-trainer.jar", "4"))
                .contains("ranks=4 slope=3.00 offset=1.00");
        assertThat(run(trainer, "java", "-jar", "target/array-trainer.jar")).contains("ranks=1 slope=3.00 offset=1.00");
    }

    @Test
    void gradleTakesItToo() throws Exception {
        assumeThat(Path.of("/usr/bin/gradle")).as("apt-get install gradle").isExecutable();
        Path trainer = copy(ROOT.resolve("docs/array-trainer"), folder.resolve("gradle"));
        run(trainer, "gradle", "--no-daemon", "-q", "-PhvdRepository=" + repository.toUri(), "installDist");
        assertThat(run(trainer, "build/install/array-trainer/bin/array-trainer", "4"))
                .contains("ranks=4 slope=3.00 offset=1.00");
    }

    @Test
    void gradleBuildsATrainerForLibTorch() throws Exception {
        assumeThat(Path.of("/usr/bin/gradle")).as("apt-get install gradle").isExecutable();
        Path trainer = copy(ROOT.resolve("docs/own-trainer"), folder.resolve("torch"));
        run(trainer, "gradle", "--no-daemon", "-q", "-PhvdRepository=" + repository.toUri(), "installDist");
        assertThat(run(trainer, "build/install/own-trainer/bin/own-trainer")).contains("ranks=1 right=");
    }

    @Test
    void everyJarHasItsLicence() throws Exception {
        for (String artifact :
                List.of("hvd-core", "hvd-launch", "hvd-optimizer", "hvd-parquet", "hvd-transformers", "hvd-spark")) {
            assertThat(entries(jar(artifact, ""))).as(artifact).contains("META-INF/LICENSE");
        }
    }

    /** The deployed jar was built in another folder, at another time. */
    @Test
    void theBitsOfAJarDependOnTheSourcesAlone() throws Exception {
        Path deployed = jar("hvd-core", "");
        Path built = ROOT.resolve("hvd-core/target").resolve(deployed.getFileName());

        assertThat(Files.mismatch(deployed, built)).isEqualTo(-1);
    }

    private static Path jar(String artifact, String suffix) throws IOException {
        try (Stream<Path> files = Files.walk(repository.resolve("io/hvd").resolve(artifact))) {
            return files.filter(
                            file -> file.getFileName().toString().matches(artifact + "-[0-9.]+" + suffix + "\\.jar"))
                    .findFirst()
                    .orElseThrow();
        }
    }

    private static List<String> entries(Path jar) throws IOException {
        try (JarFile file = new JarFile(jar.toFile())) {
            return file.stream().map(JarEntry::getName).toList();
        }
    }

    private static List<String> deployed(Path repository, String jar) throws IOException {
        try (Stream<Path> files = Files.walk(repository.resolve("io/hvd").resolve(jar))) {
            return files.map(file -> file.getFileName().toString()).toList();
        }
    }

    private static Stream<String> names(Path directory) throws IOException {
        try (Stream<Path> files = Files.list(directory)) {
            return files.map(file -> file.getFileName().toString()).toList().stream();
        }
    }

    private static String run(Path directory, String... command) throws IOException, InterruptedException {
        File log = File.createTempFile("command", ".log", folder.toFile());
        List<String> words = new ArrayList<>(List.of(command));
        Process process = new ProcessBuilder(words)
                .directory(directory.toFile())
                .redirectErrorStream(true)
                .redirectOutput(log)
                .start();
        process.waitFor();
        String said = Files.readString(log.toPath());
        assertThat(process.exitValue()).as("%s%n%s", words, said).isZero();
        return said;
    }

    /** A copy of a folder, without what a build has made. */
    private static Path copy(Path from, Path to) throws IOException {
        Files.walkFileTree(from, new SimpleFileVisitor<>() {
            @Override
            public FileVisitResult preVisitDirectory(Path directory, BasicFileAttributes attributes)
                    throws IOException {
                if (NOT_COPIED.contains(directory.getFileName().toString())) {
                    return FileVisitResult.SKIP_SUBTREE;
                }
                Files.createDirectories(to.resolve(from.relativize(directory)));
                return FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) throws IOException {
                Files.copy(file, to.resolve(from.relativize(file)));
                return FileVisitResult.CONTINUE;
            }
        });
        return to;
    }
}
