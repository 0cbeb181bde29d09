package io.hvd.examples.pages;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;

import io.hvd.examples.TrainHere;
import io.hvd.testing.Job;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The pages' command lines, from the folder in which a reader types them. */
class PageCommandsIT {
    private static final String TRAIN_JAR = "hvd-examples/target/train.jar";
    private static final String AS_ROOT = "--allow-run-as-root";
    private static final String CROWDED = "--oversubscribe";

    @Test
    void everyLineStartsWithSomethingKnown() {
        assertThat(Pages.commands())
                .isNotEmpty()
                .allSatisfy(
                        command -> assertThat(command.get(0)).matches("mpirun|srun|java|mvn|mpirun-scripts/[a-z.-]+"));
        assertThat(Pages.commands().stream()
                        .map(command -> command.get(0))
                        .filter(program -> program.contains("/"))
                        .map(Pages.ROOT::resolve))
                .allMatch(Files::isExecutable);
    }

    @ParameterizedTest
    @MethodSource
    void theProgramsKnowTheirFlagsAndTakeTheirValues(String flags) {
        assertThatCode(() -> TrainHere.check(flags.isEmpty() ? List.of() : words(flags)))
                .doesNotThrowAnyException();
    }

    static Set<String> theProgramsKnowTheirFlagsAndTakeTheirValues() {
        return Pages.commands().stream()
                .filter(command -> command.contains(TRAIN_JAR))
                .map(command -> String.join(" ", command.subList(command.indexOf(TRAIN_JAR) + 1, command.size())))
                .collect(Collectors.toCollection(LinkedHashSet::new));
    }

    @ParameterizedTest
    @MethodSource
    void horovodrunMakesAnMpirunLineOfIt(String command) {
        Job job = assertSucceeds(words(command.replace("horovodrun", "horovodrun --dry-run")));

        assertThat(job.output().lines().reduce((a, b) -> b).orElseThrow()).contains("mpirun ", " -np ", ".jar");
    }

    /** --help comes last, so all flags before it have been understood. */
    @ParameterizedTest
    @MethodSource
    void hvdDoctorKnowsItsFlags(String command) {
        assertThat(assertSucceeds(words(command + " --help")).output()).contains("--self-test");
    }

    static List<String> hvdDoctorKnowsItsFlags() {
        return startingWith("mpirun-scripts/hvd-doctor ");
    }

    /** The lines that differ before the program, which horovodrun does not look into. */
    static Collection<String> horovodrunMakesAnMpirunLineOfIt() {
        return startingWith("mpirun-scripts/horovodrun ").stream()
                .collect(Collectors.toMap(
                        line -> line.replaceFirst(" java .*", ""), line -> line, (first, more) -> first))
                .values();
    }

    @ParameterizedTest
    @MethodSource
    void mpirunTakesTheFlags(String command) {
        List<String> line = forThisMachine(command);
        List<String> launch = new ArrayList<>(line.subList(0, line.indexOf("java")));
        launch.addAll(List.of("echo", "started"));

        assertThat(assertSucceeds(launch).lines("started")).hasSize(4);
    }

    static List<String> mpirunTakesTheFlags() {
        return startingWith("mpirun ");
    }

    /** mpirun must not take the folder's flag for a class path; --help shows that the program has been reached. */
    @Test
    void theLinesThatNameAFolderForTheLibrariesReachTheProgram() {
        List<String> lines = Pages.commands().stream()
                .map(command -> String.join(" ", command))
                .filter(command -> command.contains("cachedir"))
                .toList();

        assertThat(lines).hasSize(2);
        for (String line : lines) {
            List<String> command = line.startsWith("mpirun ") ? forThisMachine(line) : words(line);
            List<String> asking = new ArrayList<>(command);
            asking.add("--help");
            assertThat(assertSucceeds(asking).output()).as(line).contains("digits", "cifar10");
        }
    }

    /** The lines for plain mpirun with an archive, which the second one must really read. */
    @Test
    void anArchiveMadeByHandIsUsedUnderPlainMpirun(@TempDir Path folder) {
        String archive = "/tmp/train.jsa";
        List<String> lines = Pages.commands().stream()
                .map(command -> String.join(" ", command))
                .filter(command -> command.contains(archive))
                .toList();
        assertThat(lines).hasSize(2);
        String own = folder.resolve("train.jsa").toString();

        assertSucceeds(words(lines.get(0).replace(archive, own)));
        Job job = assertSucceeds(forThisMachine(lines.get(1)
                .replace(archive, own)
                .replace("-XX:+UseSerialGC", "-XX:+UseSerialGC -Xlog:class+load")
                .concat(" --max-steps 2")));

        assertThat(job.output()).contains("io.hvd.Hvd source: shared objects file (top)", "RESULT ");
    }

    @Test
    void theDocumentedLineTrains() {
        assertTrains(words(startingWith("mpirun-scripts/horovodrun -np 4 java -jar " + TRAIN_JAR)
                .get(0)));
    }

    /** StartIT trains under plain mpirun every day. */
    @Test
    @Tag("long")
    void thePlainLineTrains() {
        assertTrains(forThisMachine(
                startingWith("mpirun -np 4 java -jar " + TRAIN_JAR).get(0)));
    }

    private static void assertTrains(List<String> command) {
        List<String> shortened = new ArrayList<>(command);
        shortened.addAll(List.of("--max-steps", "2"));

        Job job = assertSucceeds(shortened);

        assertThat(job.lines("RESULT ")).hasSize(1);
        String shown = Pages.blocks("text").stream()
                .filter(block -> block.startsWith("RESULT example="))
                .findFirst()
                .orElseThrow();
        assertThat(keys(job.lines("RESULT ").get(0))).isEqualTo(keys(shown));
    }

    private static String keys(String result) {
        return result.strip().replaceAll("=\\S+", "=");
    }

    /** Adds what the pages say this machine needs; nothing else, and no environment variable. */
    private static List<String> forThisMachine(String command) {
        List<String> line = new ArrayList<>(words(command));
        boolean root = "root".equals(System.getProperty("user.name"));
        boolean crowded = Runtime.getRuntime().availableProcessors() < 4;
        boolean startsWithPrrte =
                Job.run(List.of("mpirun", "--version"), Map.of()).output().contains("(Open MPI) 5");
        addMissing(line, root, AS_ROOT);
        addMissing(line, crowded, CROWDED);
        addMissing(line, startsWithPrrte, "-x", "UCX_ERROR_SIGNALS=");
        return line;
    }

    private static void addMissing(List<String> line, boolean needed, String... words) {
        String last = words[words.length - 1];
        assertThat(Pages.commands()).anyMatch(command -> command.contains(last));
        if (needed && !line.contains(last)) {
            line.addAll(1, List.of(words));
        }
    }

    private static Job assertSucceeds(List<String> command) {
        // env changes the folder; it must not be left to ProcessBuilder, which looks the program up in the old one.
        List<String> fromRoot = new ArrayList<>(List.of("env", "-C", Pages.ROOT.toString()));
        fromRoot.addAll(command);
        Job job = Job.run(fromRoot, Map.of());
        assertThat(job.exitCode()).as(command + "\n" + job.output()).isZero();
        return job;
    }

    private static List<String> startingWith(String prefix) {
        return Pages.commands().stream()
                .map(command -> String.join(" ", command))
                .filter(command -> command.startsWith(prefix))
                .toList();
    }

    private static List<String> words(String command) {
        return List.of(command.split(" "));
    }
}
