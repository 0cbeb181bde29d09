package io.hvd.launch.jvm;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.launch.ArgvProgram;
import io.hvd.launch.Horovodrun;
import io.hvd.testing.Job;
import io.hvd.testing.Mpirun;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.jar.Attributes;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Open MPI rewrites the arguments of a program called java; what is started here has them as they were typed. */
@Timeout(400)
final class JavaLineIT {

    private static final String JAVA =
            Path.of(System.getProperty("java.home"), "bin", "java").toString();
    private static final String CLASSES = ArgvProgram.class
            .getProtectionDomain()
            .getCodeSource()
            .getLocation()
            .getPath();
    /** The property that the page calls NATIVE. */
    private static final String NATIVE = String.join(".", "java", "library", "path");

    private static final Pattern ROW = Pattern.compile("(?m)^\\| `(java [^`]*)` \\| (.*?) \\|");

    /** What mpirun makes of the lines that the page leaves out. */
    private static final String OTHER_ROWS = """
            | `java Main` | `java -cp DIR -DNATIVE=LIB Main` |
            | `java -classpath a:b Main` | `java -DNATIVE=LIB -classpath DIR:a:b Main` |
            | `java --class-path a:b Main` | `java -cp DIR -DNATIVE=LIB --class-path a:b Main` |
            | `java --class-path=/tcp/a Main x` | `java -DNATIVE=LIB --class-path=/tcp/a DIR:Main x` |
            | `java -p mods -m m/Main` | `java -cp DIR -DNATIVE=LIB -p mods -m m/Main` |
            | `java --module-path /tcp/mods -m m/Main` | `java -DNATIVE=LIB --module-path /tcp/mods DIR:-m m/Main` |
            | `java @options Main` | `java -cp DIR -DNATIVE=LIB @options Main` |
            | `java -DNATIVE=/x -cp a Main` | `java -DNATIVE=/x:LIB -cp DIR:a Main` |
            | `java -cp a Main --data cp y` | `java -DNATIVE=LIB -cp DIR:a Main --data cp y` |
            | `java -jar a.jar --data cp y` | `java -DNATIVE=LIB -jar a.jar --data cp DIR:y` |
            | `java -jar a.jar my.NATIVE=x` | `java -cp DIR -jar a.jar -DNATIVE=x:LIB` |
            """;

    @TempDir
    private static Path folder;

    @BeforeAll
    static void makeTheFilesThatTheLinesName() throws IOException {
        var manifest = new Manifest();
        manifest.getMainAttributes().put(Attributes.Name.MANIFEST_VERSION, "1.0");
        manifest.getMainAttributes().put(Attributes.Name.MAIN_CLASS, ArgvProgram.class.getName());
        manifest.getMainAttributes().put(Attributes.Name.CLASS_PATH, "file:" + CLASSES);
        new JarOutputStream(Files.newOutputStream(folder.resolve("argv.jar")), manifest).close();
        Files.writeString(folder.resolve("options"), "-cp " + CLASSES);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "-Dorg.bytedeco.javacpp.cachedir=FOLDER -jar JAR",
                "-DNATIVE=FOLDER/scp:FOLDER -cp CLASSES MAIN",
                "--class-path=CLASSES -Dtcp=1 MAIN",
                "@FOLDER/options MAIN",
                "-jar JAR where.NATIVE=z -DNATIVE=z"
            })
    void horovodrunAndEnvStartTheVeryLineThatWasTyped(String typed) {
        requireStartedAsTyped(typed);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "-Dorg.bytedeco.javacpp.cachedir=FOLDER -cp CLASSES MAIN",
                "-classpath CLASSES MAIN -classpath x",
                "--class-path CLASSES MAIN",
                "-p FOLDER/tcp -cp CLASSES MAIN",
                "--module-path FOLDER/tcp -cp CLASSES MAIN",
                "-jar JAR --data cp",
                "-jar JAR cp y",
                "-jar JAR scp://a/b --classpath q"
            })
    @Tag("long")
    void horovodrunAndEnvStartOtherLinesAsTyped(String typed) {
        requireStartedAsTyped(typed);
    }

    /** In place of JAR, CLASSES, MAIN, FOLDER and NATIVE stand those of this machine and the property's name. */
    private static void requireStartedAsTyped(String typed) {
        List<String> line = new ArrayList<>(List.of(JAVA));
        Stream.of(typed.split(" "))
                .map(word -> word.replace("JAR", folder.resolve("argv.jar").toString())
                        .replace("CLASSES", CLASSES)
                        .replace("MAIN", ArgvProgram.class.getName())
                        .replace("FOLDER", folder.toString())
                        .replace("NATIVE", NATIVE))
                .forEach(line::add);
        String asTyped = only(Job.run(line, Map.of()));

        assertThat(only(Job.horovodrun(1, Map.of(), line))).as("horovodrun").isEqualTo(asTyped);
        assertThat(only(Job.run(after(Mpirun.command(1), "env", line), Map.of())))
                .as("mpirun env")
                .isEqualTo(asTyped);
    }

    @Test
    void aJavaInAFolderWithAnEqualsSignIsStartedToo() throws IOException {
        Path odd = Files.createDirectories(folder.resolve("jdk=17/bin")).resolve("java");
        Files.deleteIfExists(odd);
        Files.writeString(odd, "#!/bin/sh\necho started with \"$@\"\n");
        Files.setPosixFilePermissions(odd, PosixFilePermissions.fromString("rwx------"));

        assertThat(only(Job.horovodrun(1, Map.of(), List.of(odd.toString(), "-Dcp=1", "a b"))))
                .isEqualTo("started with -Dcp=1 a b");
    }

    @Test
    void withOutputFilesTheLineIsTheOneThatWasTypedToo() {
        List<String> line =
                List.of(JAVA, "-Dtcp=1", "-jar", folder.resolve("argv.jar").toString(), "cp", "y");
        List<String> words = Job.program(
                Horovodrun.class,
                "-np",
                "1",
                "--output-filename",
                folder.resolve("output").toString());

        assertThat(only(Job.run(after(words, line), Map.of()))).isEqualTo(only(Job.run(line, Map.of())));
    }

    /** With a script called java that prints what it gets. */
    @ParameterizedTest
    @MethodSource("rows")
    void thePageSaysWhatMpirunMakesOfAJava(String typed, String started) throws IOException {
        Path bin = Files.createDirectories(folder.resolve("bin"));
        Path java = Files.writeString(bin.resolve("java"), "#!/bin/sh\necho java \"$@\"\n");
        Files.setPosixFilePermissions(java, PosixFilePermissions.fromString("rwx------"));
        List<String> command = new ArrayList<>(List.of("env", "-C", folder.toString(), "-u", "CLASSPATH"));
        command.addAll(Mpirun.command(1));
        command.addAll(List.of(typed.split(" ")));

        Job job = Job.run(command, Map.of("PATH", bin + ":" + System.getenv("PATH")));

        if (started.startsWith("`")) {
            assertThat(job.exitCode()).as(job.output()).isZero();
            assertThat(job.output().strip().replaceAll("library\\.path=(\\S+:)?/\\S*lib\\b", "library.path=$1LIB"))
                    .isEqualTo(started.replace("`", "").replace("DIR", folder.toString()));
        } else {
            assertThat(started).isEqualTo("mpirun itself ends by a segmentation fault");
            assertThat(job.exitCode()).isNotZero();
            assertThat(job.output()).doesNotContain("java -");
        }
    }

    static Stream<Arguments> rows() throws IOException {
        String page = Files.readString(Path.of("..", "docs", "reference", "horovodrun.md"));
        assertThat(ROW.matcher(page).results()).hasSize(4);
        List<MatchResult> rows = ROW.matcher(page + OTHER_ROWS).results().toList();
        return rows.stream()
                .map(row -> Arguments.of(
                        row.group(1).replace("NATIVE", NATIVE), row.group(2).replace("NATIVE", NATIVE)));
    }

    private static List<String> after(List<String> words, String more, List<String> line) {
        return after(after(words, List.of(more)), line);
    }

    private static List<String> after(List<String> words, List<String> more) {
        return Stream.of(words, more).flatMap(List::stream).toList();
    }

    private static String only(Job job) {
        assertThat(job.exitCode()).as(job.output()).isZero();
        List<String> lines = job.lines("started with ");
        assertThat(lines).as(job.output()).hasSize(1);
        return lines.get(0);
    }
}
