package io.hvd.launch;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.testing.Job;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Two starts of one program, of which the second takes its classes from the archive that the first one has led to. */
final class ClassArchiveIT {

    private static final String FROM_ARCHIVE = ArgvProgram.class.getName() + " source: shared objects file";

    private static final String OWN_CLASS = Horovodrun.class.getName() + " source: ";

    private static final String OWN_FROM_ARCHIVE = OWN_CLASS + "shared objects file";

    @TempDir
    private Path folder;

    @Test
    void theSecondStartTakesItsClassesFromTheArchiveOfTheFirst() throws IOException {
        Path jar = jar(ArgvProgram.class);

        Job first = start(jar);
        Job second = start(jar);

        assertThat(first.exitCode()).as(first.output()).isZero();
        assertThat(first.lines(FROM_ARCHIVE)).isEmpty();
        assertThat(second.exitCode()).as(second.output()).isZero();
        assertThat(second.lines(FROM_ARCHIVE)).hasSize(2);
    }

    @Test
    void theSecondStartTakesHorovodrunsOwnClassesFromAnArchiveToo() throws IOException {
        assertThat(loadedByTheScript("first")).contains(OWN_CLASS).doesNotContain(OWN_FROM_ARCHIVE);
        assertThat(loadedByTheScript("second")).contains(OWN_FROM_ARCHIVE);
        assertThat(loadedByTheScript("third", "--no-class-archive"))
                .contains(OWN_CLASS)
                .doesNotContain(OWN_FROM_ARCHIVE);

        try (Stream<Path> left = Files.list(folder.resolve("hvd/classes"))) {
            assertThat(left).noneMatch(file -> file.toString().contains("recording"));
        }
    }

    /** What the JVMs on this side of mpirun say of their classes in a job whose rank is no Java program. */
    private String loadedByTheScript(String name, String... flags) throws IOException {
        List<String> command = new ArrayList<>(
                List.of(Path.of("../mpirun-scripts/horovodrun").toAbsolutePath().toString(), "-np", "1"));
        command.addAll(List.of(flags));
        command.add("true");
        Path logs = Files.createDirectory(folder.resolve(name));
        Job job = Job.run(
                command,
                Map.of(
                        "XDG_CACHE_HOME",
                        folder.toString(),
                        "HVD_CLASS_ARCHIVE",
                        "wait",
                        "JAVA_HOME",
                        System.getProperty("java.home"),
                        "JDK_JAVA_OPTIONS",
                        "-Xlog:class+load:file=" + logs.resolve("%p.txt")));
        assertThat(job.exitCode()).as(job.output()).isZero();
        var said = new StringBuilder();
        try (DirectoryStream<Path> files = Files.newDirectoryStream(logs)) {
            for (Path file : files) {
                said.append(Files.readString(file));
            }
        }
        return said.toString();
    }

    private Job start(Path jar) {
        String java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
        Map<String, String> environment = Map.of("XDG_CACHE_HOME", folder.toString(), "HVD_CLASS_ARCHIVE", "wait");
        return Job.horovodrun(
                2,
                environment,
                List.of(java, "-Xlog:class+load", "-cp", jar.toString(), ArgvProgram.class.getName(), "x"));
    }

    private Path jar(Class<?> program) throws IOException {
        Path jar = folder.resolve("program.jar");
        String name = program.getName().replace('.', '/') + ".class";
        try (OutputStream out = Files.newOutputStream(jar);
                var entries = new JarOutputStream(out);
                InputStream bytes = program.getResourceAsStream("/" + name)) {
            entries.putNextEntry(new JarEntry(name));
            bytes.transferTo(entries);
        }
        return jar;
    }
}
