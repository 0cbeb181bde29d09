package io.hvd.examples;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.testing.Job;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.jar.Attributes;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import java.util.stream.IntStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Which jars bundle.sh copies, and what its --check takes for a library that is named as missing. */
class BundleJarsTest {
    private static final Path SCRIPTS = Path.of("..", "mpirun-scripts").toAbsolutePath();

    @TempDir
    Path target;

    @BeforeEach
    void make() throws IOException {
        Files.createDirectory(target.resolve("lib"));
    }

    /** Writes train.jar, whose manifest names these, in lines of 72 bytes as every jar does. */
    private void trainJar(List<String> names) throws IOException {
        Manifest manifest = new Manifest();
        manifest.getMainAttributes().put(Attributes.Name.MANIFEST_VERSION, "1.0");
        if (!names.isEmpty()) {
            manifest.getMainAttributes().put(Attributes.Name.CLASS_PATH, String.join(" ", names));
        }
        new JarOutputStream(Files.newOutputStream(target.resolve("train.jar")), manifest).close();
    }

    private Job jars() {
        String command = ". \"$0/setup/tools.sh\" && . \"$0/bundle/jars.sh\" && jars_of \"$1/train.jar\"";
        return Job.run(
                List.of("bash", "-euc", command, SCRIPTS.toString(), target.toString()),
                Map.of("JAVA_HOME", System.getProperty("java.home")));
    }

    @Test
    void jarsOfAnEarlierBuildAreLeftOut() throws IOException {
        List<String> names = new ArrayList<>(IntStream.range(0, 30)
                .mapToObj(n -> "lib/" + "a".repeat(n) + "-" + n + ".jar")
                .toList());
        names.add("lib/pytorch-2-linux-x86_64-gpu.jar");
        trainJar(names);
        for (String name : names) {
            Files.createFile(target.resolve(name));
        }
        for (String stale : List.of("pytorch-1-linux-x86_64.jar", "pytorch-2-linux-x86_64.jar", "cuda-1.jar")) {
            Files.createFile(target.resolve("lib").resolve(stale));
        }
        Files.createFile(target.resolve("lib/mpi-java-installed.jar"));
        names.add("lib/mpi-java-installed.jar");

        Job job = jars();

        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(job.output().lines())
                .containsExactlyInAnyOrderElementsOf(
                        names.stream().map(name -> target + "/" + name).toList());
    }

    @ParameterizedTest
    @CsvSource({
        "hvd: FAILED: [HVD-102] LibTorch could not be loaded: it does not find libcublas.so.13; install it, 1, 0",
        "hvd: FAILED: [HVD-102] the ranks did not find each other, 1, 1",
        "Exception in thread main: java.lang.NoClassDefFoundError, 1, 1",
        "horovodrun: not found, 127, 1",
        "[HVD-102] LibTorch does not find libcublas.so.13, 0, 1"
    })
    void onlyATrainingThatNamesAMissingLibraryPassesTheCheckOfABundle(String words, int code, int expected)
            throws IOException {
        Path horovodrun = Files.writeString(
                target.resolve("horovodrun"), "#!/bin/bash\necho '" + words + "' >&2\nexit " + code + "\n");
        assertThat(horovodrun.toFile().setExecutable(true)).isTrue();

        Job job = Job.run(
                List.of(
                        "bash",
                        "-euc",
                        ". \"$0/bundle/checks.sh\"; PATH=$1:$PATH; exec bash -euc \"$(command_that_names_libraries)\"",
                        SCRIPTS.toString(),
                        target.toString()),
                Map.of());

        assertThat(job.exitCode()).as(job.output()).isEqualTo(expected);
        assertThat(job.output()).contains(words);
    }

    @Test
    void aJarThatIsNotThereIsNamed() throws IOException {
        trainJar(List.of("lib/a.jar", "lib/b.jar"));
        Files.createFile(target.resolve("lib/a.jar"));

        assertThat(jars().exitCode()).isEqualTo(1);
        assertThat(jars().output()).contains("train.jar needs lib/b.jar, which is not in " + target);
    }

    @Test
    void aJarThatNamesNoneIsRefused() throws IOException {
        trainJar(List.of());

        assertThat(jars().exitCode()).isEqualTo(1);
        assertThat(jars().output()).contains("names no jars in its manifest");
    }
}
