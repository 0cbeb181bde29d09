package io.hvd.launch;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.testing.Job;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Two starts of one program, of which the second takes its classes from the archive that the first one has led to. */
final class ClassArchiveIT {

    private static final String FROM_ARCHIVE = ArgvProgram.class.getName() + " source: shared objects file";

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
