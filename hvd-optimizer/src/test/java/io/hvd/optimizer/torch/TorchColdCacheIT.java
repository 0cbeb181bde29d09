package io.hvd.optimizer.torch;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.bytedeco.javacpp.Loader;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** JVMs that find JavaCPP's cache empty; unprepared, that crashes them. */
@Timeout(400)
class TorchColdCacheIT {
    @TempDir
    Path folder;

    private final List<Process> processes = new ArrayList<>();

    /** Both folders link to libraries outside of them, which must stay: links are deleted, not followed. */
    @AfterEach
    void nothingIsLeft() throws Exception {
        for (Process process : processes) {
            process.destroyForcibly().waitFor();
        }
        for (Path filled : List.of(folder.resolve("cache"), Files.createDirectories(folder.resolve("native")))) {
            try (Stream<Path> files = Files.walk(filled)) {
                for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                    Files.delete(file);
                }
            }
        }
    }

    @Test
    void threeProcessesThatStartAtOnceAllTrain() throws Exception {
        for (int i = 0; i < 3; i++) {
            start("init", "log" + i);
        }
        for (int i = 0; i < 3; i++) {
            assertTrained("log" + i, i, "trained on rank 0");
        }
        try (var entries = Files.list(folder.resolve("cache"))) {
            assertThat(entries.map(entry -> entry.getFileName().toString()))
                    .as("the cache was empty and is filled now")
                    .anyMatch(name -> name.startsWith("pytorch-"));
        }
    }

    /** A process that unpacks, or looks whether everything is unpacked, takes the lock first. */
    @Test
    void aLaterProcessTakesTheNoteOfAnEarlierOneInsteadOfUnpacking() throws Exception {
        start("init", "log0");
        assertTrained("log0", 0, "trained on rank 0");
        Path lock = folder.resolve("cache/.hvd.lock");
        Files.delete(lock);

        start("init", "log1");
        assertTrained("log1", 1, "trained on rank 0");
        assertThat(lock).doesNotExist();

        Path note = notes().get(0);
        Files.write(note, Files.readAllLines(note).subList(1, 3));
        start("init", "log2");
        assertTrained("log2", 2, "trained on rank 0");
        assertThat(lock).as("after a note that was damaged").exists();
    }

    /** As in an image of containers, where nobody can write what would be unpacked. */
    @Test
    void librariesThatLieInAFolderAndInNoJarAreLoadedWhereTheyLie() throws Exception {
        Path natives = Files.createDirectories(folder.resolve("native"));
        for (String library : List.of("javacpp", "openblas", "pytorch")) {
            for (File unpacked : Loader.cacheResources("/org/bytedeco/" + library + "/" + Loader.getPlatform())) {
                linkFiles(unpacked.toPath(), natives);
            }
        }
        String classPath = Stream.of(classPath().split(File.pathSeparator))
                .filter(entry -> !entry.contains("-" + Loader.getPlatform()))
                .collect(Collectors.joining(File.pathSeparator));

        start("init", "log0", classPath, "-Dorg.bytedeco.javacpp.platform.preloadpath=" + natives);

        assertTrained("log0", 0, "trained on rank 0");
        assertThat(folder.resolve("log0")).content().doesNotContain("unpacking");
        try (Stream<Path> cache = Files.walk(folder.resolve("cache"))) {
            assertThat(cache.filter(file -> Files.isRegularFile(file, LinkOption.NOFOLLOW_LINKS)))
                    .as("copies of libraries, and locks of an unpacking")
                    .isEmpty();
        }
    }

    /** The cache may have links to libraries of the system beside those that were unpacked. */
    private static void linkFiles(Path unpacked, Path natives) throws IOException {
        try (var files = Files.newDirectoryStream(unpacked, "lib*.so*")) {
            for (Path file : files) {
                if (Files.isRegularFile(file, LinkOption.NOFOLLOW_LINKS)) {
                    Files.createSymbolicLink(natives.resolve(file.getFileName()), file);
                }
            }
        }
    }

    private List<Path> notes() throws IOException {
        try (var files = Files.newDirectoryStream(folder.resolve("cache"), ".hvd.prepared-*")) {
            List<Path> notes = new ArrayList<>();
            files.forEach(notes::add);
            assertThat(notes).hasSize(1);
            return notes;
        }
    }

    @Test
    void rankThreadsOfOneProcessTrainToo() throws Exception {
        requireTrainingOfThreads("spawn");
    }

    @Test
    @Tag("long")
    void rankThreadsTrainWhereLibTorchWasPrepared() throws Exception {
        requireTrainingOfThreads("prepare");
    }

    private void requireTrainingOfThreads(String way) throws Exception {
        start(way, "log");
        assertTrained("log", 0, "trained on rank 0");
        if (way.equals("spawn")) {
            assertTrained("log", 0, "trained on rank 1");
        }
    }

    private void start(String way, String log) throws IOException {
        start(way, log, classPath(), "-Xmx256m");
    }

    private void start(String way, String log, String classPath, String flag) throws IOException {
        ProcessBuilder builder = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        flag,
                        "-Xmx256m",
                        "-XX:+UseSerialGC",
                        "-Dorg.bytedeco.javacpp.cachedir=" + folder.resolve("cache"),
                        "-XX:ErrorFile=" + folder.resolve(log + ".crash"),
                        "-cp",
                        classPath,
                        ColdStart.class.getName(),
                        way)
                .directory(folder.toFile())
                .redirectErrorStream(true)
                .redirectOutput(folder.resolve(log).toFile());
        // Started by hand, as it were: no launcher's variables.
        builder.environment()
                .keySet()
                .removeIf(name -> name.startsWith("OMPI_")
                        || name.startsWith("PMIX_")
                        || name.startsWith("SLURM_")
                        || name.startsWith("HOROVOD_")
                        || name.startsWith("HVD_"));
        processes.add(builder.start());
    }

    private void assertTrained(String log, int process, String line) throws Exception {
        assertThat(processes.get(process).waitFor(300, TimeUnit.SECONDS))
                .as("process %d has ended", process)
                .isTrue();
        String output = Files.readString(folder.resolve(log));
        assertThat(processes.get(process).exitValue()).as(output).isZero();
        assertThat(output).contains(line);
    }

    /** Without the tests' directory there would be no program to start. */
    private static String classPath() {
        String path = System.getProperty("java.class.path");
        assertThat(path.split(File.pathSeparator)).anyMatch(entry -> entry.endsWith("test-classes"));
        return path;
    }
}
