package io.hvd.launch.archive;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.launch.ArgvProgram;
import io.hvd.launch.Horovodrun;
import io.hvd.launch.failure.CrashFile;
import io.hvd.launch.failure.JobFailureReport;
import io.hvd.testing.Job;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.LocalDateTime;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import java.util.stream.Stream;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Two starts of one program, of which the second takes its classes from the archive that the first one has led to. */
final class ClassArchiveIT {

    private static final String FROM_ARCHIVE = ArgvProgram.class.getName() + " source: shared objects file";

    private static final String OWN_CLASS = Horovodrun.class.getName() + " source: ";

    private static final String SHARED = "shared objects file";

    private static final String OWN_FROM_ARCHIVE = OWN_CLASS + SHARED;

    @TempDir
    private Path folder;

    @Test
    void theSecondStartTakesItsClassesFromTheArchiveOfTheFirst() throws IOException {
        Path jar = jar(ArgvProgram.class);

        assertThat(loadedByRanks("first", jar)).hasSize(2).noneMatch(said -> said.contains(FROM_ARCHIVE));
        assertThat(loadedByRanks("second", jar)).hasSize(2).allMatch(said -> said.contains(FROM_ARCHIVE));
    }

    @Test
    void theSecondStartTakesHorovodrunsOwnClassesFromAnArchiveToo() throws IOException {
        assertThat(loadedByTheScript()).contains(OWN_CLASS).doesNotContain(OWN_FROM_ARCHIVE);
        assertThat(loadedByTheScript()).contains(OWN_FROM_ARCHIVE);
        assertThat(saidByTheScript("", List.of("false")))
                .as("a job that fails, for whose report the first one has listed the classes too")
                // mpirun itself may lose its words about which rank it was: 2 of 60 times without horovodrun
                .containsPattern("horovodrun: (first failure: |exit code 1; )")
                .contains(JobFailureReport.class.getName() + " source: " + SHARED)
                .contains(CrashFile.class.getName() + " source: " + SHARED);
        assertThat(loadedByTheScript("--no-class-archive")).contains(OWN_CLASS).doesNotContain(OWN_FROM_ARCHIVE);

        try (Stream<Path> left = Files.list(folder.resolve("hvd/classes"))) {
            assertThat(left).noneMatch(file -> file.toString().contains("recording"));
        }
    }

    @Test
    void whereAVariableRulesArchivesOutOnlyTheFirstStartListsItsClasses() throws IOException {
        String flagsAreShown = "-XX:+PrintCommandLineFlags";
        String unfit = flagsAreShown + " -Xverify:remote";
        String lists = "-XX:DumpLoadedClassList=";

        assertThat(saidByTheScript(unfit, List.of("true"))).contains(lists);
        assertThat(saidByTheScript(unfit, List.of("true")))
                .contains(flagsAreShown)
                .doesNotContain(lists);
        assertThat(saidByTheScript(unfit + " -Dother=key", List.of("true")))
                .as("with another value")
                .contains(lists);
    }

    @Test
    void aJarThatIsRebuiltWithTheSameSizeAndTimeRunsItsNewCode() throws IOException {
        Path jar = folder.resolve("say.jar");
        rate(jar, "0.1");
        long size = Files.size(jar);
        assertThat(saidByRank(jar)).contains("RATE 0.1");
        assertThat(saidByRank(jar)).contains("RATE 0.1").contains("source: shared objects file");

        rate(jar, "0.2");

        assertThat(jar).hasSize(size);
        assertThat(saidByRank(jar)).contains("RATE 0.2").doesNotContain("RATE 0.1");
        assertThat(saidByRank(jar)).contains("RATE 0.2").contains("source: shared objects file");
    }

    private String saidByRank(Path jar) throws IOException {
        String java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
        Job job = Job.horovodrun(
                1,
                Map.of("XDG_CACHE_HOME", folder.toString(), "HVD_CLASS_ARCHIVE", "wait"),
                List.of(java, "-Xlog:class+load", "-cp", jar.toString(), "Say"));
        assertThat(job.exitCode()).as(job.output()).isZero();
        return job.output()
                        .lines()
                        .filter(line -> line.contains("RATE") || line.contains("Say source:"))
                        .toList() + "";
    }

    /** Compiles a program with this constant into a jar of one time, as a reproducible build does. */
    private void rate(Path jar, String rate) throws IOException {
        Path source = Files.writeString(
                folder.resolve("Say.java"),
                "class Say { public static void main(String[] a) { System.out.println(\"RATE \" + rate()); }"
                        + " static String rate() { return \"" + rate + "\"; } }");
        int compiled = ToolProvider.getSystemJavaCompiler()
                .run(null, null, null, "--release", "17", "-d", folder.toString(), source.toString());
        assertThat(compiled).isZero();
        try (OutputStream out = Files.newOutputStream(jar);
                var entries = new JarOutputStream(out)) {
            var entry = new JarEntry("Say.class");
            entry.setTimeLocal(LocalDateTime.of(2000, 1, 1, 0, 0));
            entries.putNextEntry(entry);
            Files.copy(folder.resolve("Say.class"), entries);
        }
        Files.setLastModifiedTime(jar, FileTime.fromMillis(1_000_000_000_000L));
    }

    private String loadedByTheScript(String... flags) throws IOException {
        List<String> words = new ArrayList<>(List.of(flags));
        words.add("true");
        return saidByTheScript("", words);
    }

    /** What the JVMs on this side of mpirun say of their flags and classes in a job whose rank is no Java program. */
    private String saidByTheScript(String option, List<String> words) throws IOException {
        List<String> command = new ArrayList<>(
                List.of(Path.of("../mpirun-scripts/horovodrun").toAbsolutePath().toString(), "-np", "1"));
        command.addAll(words);
        Path logs = folder.resolve("logs"); // one for all starts, since a refusal holds for its name
        if (Files.isDirectory(logs)) {
            ClassLists.delete(logs);
        }
        Files.createDirectory(logs);
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
                        "-Xlog:class+load:file=" + logs.resolve("%p.txt") + " " + option));
        assertThat(job.exitCode()).as(job.output()).isEqualTo(words.contains("false") ? 1 : 0);
        return job.output() + String.join("", contents(logs));
    }

    /**
     * What each of two ranks says of its classes. Each writes a file of its own, because mpirun mixes what ranks print
     * wherever a read of its pipes ends, in the middle of a line too.
     */
    private List<String> loadedByRanks(String name, Path jar) throws IOException {
        String java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
        Path logs = Files.createDirectory(folder.resolve(name));
        Job job = Job.horovodrun(
                2,
                Map.of("XDG_CACHE_HOME", folder.toString(), "HVD_CLASS_ARCHIVE", "wait"),
                List.of(
                        java,
                        "-Xlog:class+load:file=" + logs.resolve("%p.txt"),
                        "-cp",
                        jar.toString(),
                        ArgvProgram.class.getName(),
                        "x"));
        assertThat(job.exitCode()).as(job.output()).isZero();
        return contents(logs);
    }

    private static List<String> contents(Path logs) throws IOException {
        List<String> contents = new ArrayList<>();
        try (DirectoryStream<Path> files = Files.newDirectoryStream(logs)) {
            for (Path file : files) {
                contents.add(Files.readString(file));
            }
        }
        return contents;
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
