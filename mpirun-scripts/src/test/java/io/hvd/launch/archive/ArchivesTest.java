package io.hvd.launch.archive;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.launch.hosts.MachineFacts;
import io.hvd.launch.jvm.JavaLine;
import io.hvd.launch.line.LaunchFacts;
import io.hvd.launch.mpi.MpiVersion;
import io.hvd.launch.options.LaunchOptions;
import io.hvd.launch.options.LaunchSettings;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDateTime;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeMap;
import java.util.jar.Attributes;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Archives of a program under a fake JDK, whose java writes down its words and makes a file where an archive is asked for. */
final class ArchivesTest {

    private static final String JAVA = """
            #!/bin/sh
            echo "$*" >>"%1$s/calls"
            for word in "$@"; do
                case $word in
                -XX:SharedArchiveFile=*) file=${word#*=} ;;
                -Xshare:dump) dumps=1 ;;
                esac
            done
            [ -e "%1$s/refuses" ] && exit 1
            [ -z "$dumps" ] || echo archive >"$file"
            """;

    @TempDir
    private Path home;

    private Map<String, String> environment;
    private ArchiveFolder folder;

    @BeforeEach
    void makeTheJdkAndTheJars() throws IOException {
        Path java = home.resolve("jdk/bin/java");
        write(java, String.format(Locale.ROOT, JAVA, home));
        Files.setPosixFilePermissions(java, PosixFilePermissions.fromString("rwxr-xr-x"));
        write(home.resolve("jdk/lib/server/libjvm.so"), "jvm");
        write(home.resolve("jdk/lib/modules"), "modules");
        write(home.resolve("jdk/release"), "JAVA_VERSION=\"17.0.15\"\n");
        jar("t.jar", "lib/a.jar gone.jar");
        jar("lib/a.jar", "");
        environment = new TreeMap<>(Map.of(
                "PATH", java.getParent().toString(),
                "XDG_CACHE_HOME", home.resolve("cache").toString()));
        folder = ArchiveFolder.of(environment);
    }

    @Test
    void theFirstStartListsClassesAndTheNextOneUsesTheArchive() throws Exception {
        ClassArchive first = look("java -jar t.jar digits", true);

        assertThat(first.forJava().words()).singleElement().asString().startsWith("-XX:DumpLoadedClassList=" + home);
        make(first, "java/lang/Object id: 0\n# remark\na/B id: 7 super: 0 source: x\n@lambda-proxy C run\n");

        ClassArchive second = look("java -jar t.jar digits", true);
        assertThat(second.forJava().words()).singleElement().asString().matches("-XX:SharedArchiveFile=.*\\.jsa");
        assertThat(second.archive().orElseThrow()).hasContent("archive\n");
        assertThat(second.recording()).isEmpty();
        assertThat(folder.classes(program())).hasContent("java/lang/Object\n@lambda-proxy C run\n");
        assertThat(calls()).first().asString().startsWith("-cp " + home.resolve("t.jar") + " -Xshare:dump ");
        assertThat(calls()).last().asString().contains("-Xshare:on");
        assertThat(first.recording().orElseThrow()).doesNotExist();
    }

    /** JDK 25 prints an error in each rank whose flags for native access are not those of the archive. */
    @Test
    void theArchiveIsMadeWithTheFlagsForNativeAccessThatTheRanksHave() throws Exception {
        write(home.resolve("jdk/release"), "JAVA_VERSION=\"25.0.1\"\n");
        String flag = "--enable-native-access=ALL-UNNAMED";

        make(look("java -jar t.jar", true), "A\n");
        make(look("java " + flag + " -jar t.jar", true), "A\n");
        make(look(Map.of(), "--no-jvm-flags", "java -jar t.jar", true), "A\n");

        assertThat(calls().stream().filter(call -> call.contains("-Xshare:dump")))
                .extracting(call -> call.substring(0, call.indexOf("-cp ")))
                .containsExactly(flag + " ", flag + " " + flag + " ", "");
    }

    @Test
    void theArchiveHasTheClassesOfAllRanksAndOfNoTornLine() throws Exception {
        ClassArchive first = look("java -jar t.jar digits", true);
        write(first.recording().orElseThrow().resolve("3.txt"), "java/lang/Object id: 0\na/OfTheOthers id: 9\na/To");

        make(first, "java/lang/Object id: 0\na/OfRank0 id: 7\n@lambda-proxy a/OfRank0 run\n");

        assertThat(folder.classes(program()))
                .hasContent("java/lang/Object\na/OfRank0\n@lambda-proxy a/OfRank0 run\na/OfTheOthers\n");
    }

    @Test
    void aDryRunMakesNothing() {
        assertThat(look("java -jar t.jar", false).forJava().words()).isEmpty();
        assertThat(look("java -jar t.jar", false).why()).contains("after the job a class-data archive is made");
        assertThat(home.resolve("cache")).doesNotExist();
    }

    @Test
    void anotherSubcommandsClassesAreAddedToTheArchive() throws Exception {
        make(look("java -jar t.jar digits", true), "A\n");

        ClassArchive other = look("java -jar t.jar mnist", true);
        assertThat(other.archive()).isPresent();
        assertThat(other.recording()).isPresent();
        make(other, "A\nB\n");

        assertThat(folder.classes(program())).hasContent("A\nB\n");
        assertThat(look("java -jar t.jar digits", true).recording()).isEmpty();
        assertThat(look("java -jar t.jar mnist", true).recording()).isEmpty();
        try (Stream<Path> archives = Files.list(home.resolve("cache/hvd/classes"))) {
            assertThat(archives.filter(file -> file.toString().endsWith(".jsa")))
                    .isNotEmpty();
        }
    }

    @Test
    void aJarThatHasChangedMakesTheArchiveStale() throws Exception {
        make(look("java -jar t.jar", true), "A\n");
        Files.setLastModifiedTime(home.resolve("lib/a.jar"), FileTime.fromMillis(1000));

        ClassArchive stale = look("java -jar t.jar", true);
        assertThat(stale.archive()).isEmpty();
        make(stale, "B\n");

        assertThat(look("java -jar t.jar", true).archive()).isPresent();
        assertThat(folder.classes(program())).hasContent("B\n");
    }

    /** As a build does that is reproducible: the jar of another constant has the same size, and always the same time. */
    @Test
    void codeOfTheSameSizeAndTimeMakesTheArchiveStale() throws Exception {
        for (String name : List.of("t.jar", "lib/a.jar")) {
            constant(name, "0.1");
            make(look("java -jar t.jar", true), "A\n");
            assertThat(look("java -jar t.jar", true).archive()).isPresent();
            long size = Files.size(home.resolve(name));

            constant(name, "0.2");

            assertThat(home.resolve(name)).hasSize(size);
            assertThat(look("java -jar t.jar", true).archive()).as(name).isEmpty();
        }
    }

    @Test
    void aJarThatAManifestNamedInVainMakesTheArchiveStale() throws Exception {
        make(look("java -jar t.jar", true), "A\n");
        jar("gone.jar", "");
        assertThat(look("java -jar t.jar", true).archive()).isEmpty();
    }

    @Test
    void aJarThatIsRebuiltWhileItsArchiveIsMadeHasNone() throws Exception {
        constant("lib/a.jar", "0.1");
        Path other = home.resolve("other.jar");
        Files.move(home.resolve("lib/a.jar"), other);
        constant("lib/a.jar", "0.2");
        write(
                home.resolve("jdk/bin/java"),
                String.format(Locale.ROOT, JAVA + "cp -p %s %s%n", home, other, home.resolve("lib/a.jar")));

        make(look("java -jar t.jar", true), "A\n");

        assertThat(look("java -jar t.jar", true).archive()).isEmpty();
    }

    /** A jar with one class of so many letters, and one time for everything. */
    private void constant(String name, String constant) throws IOException {
        var manifest = new Manifest();
        manifest.getMainAttributes().put(Attributes.Name.MANIFEST_VERSION, "1.0");
        if (!name.contains("/")) {
            manifest.getMainAttributes().put(Attributes.Name.CLASS_PATH, "lib/a.jar");
        }
        Path file = home.resolve(name);
        try (OutputStream out = Files.newOutputStream(file);
                var jar = new JarOutputStream(out)) {
            for (String entry : List.of("META-INF/MANIFEST.MF", "Say.class")) {
                var one = new JarEntry(entry);
                one.setTimeLocal(LocalDateTime.of(2000, 1, 1, 0, 0));
                jar.putNextEntry(one);
                if (entry.startsWith("META")) {
                    manifest.write(jar);
                } else {
                    jar.write(constant.getBytes(StandardCharsets.UTF_8));
                }
            }
        }
        Files.setLastModifiedTime(file, FileTime.fromMillis(1_000_000_000_000L));
    }

    @Test
    void anotherJvmMakesTheArchiveStale() throws Exception {
        make(look("java -jar t.jar", true), "A\n");
        Path release = home.resolve("jdk/release");
        FileTime time = Files.getLastModifiedTime(release);
        write(release, "JAVA_VERSION=\"17.0.16\"\n");
        Files.setLastModifiedTime(release, time);

        assertThat(look("java -jar t.jar", true).archive()).isEmpty();
    }

    @Test
    void aTornArchiveOrRecordCountsAsNotThere() throws Exception {
        make(look("java -jar t.jar", true), "A\n");
        Path archive = look("java -jar t.jar", true).archive().orElseThrow();
        write(archive, "arch");
        assertThat(look("java -jar t.jar", true).archive()).isEmpty();

        for (String torn : List.of("", "hvd class-data archive 2\n", "another form\nx.jsa\n\n", "\0\1\2")) {
            write(folder.record(program()), torn);
            assertThat(look("java -jar t.jar", true).archive()).as(torn).isEmpty();
        }
        write(folder.record(program()), "hvd class-data archive 2\n../../../t.jar\n\n");
        assertThat(look("java -jar t.jar", true).archive()).isEmpty();
    }

    @Test
    void whatTheJvmRefusesToMakeIsNotTriedAgainUntilAFileChanges() throws Exception {
        write(home.resolve("refuses"), "");
        make(look("java -jar t.jar", true), "A\n");

        ClassArchive refused = look("java -jar t.jar", true);
        assertThat(refused.forJava().words()).isEmpty();
        assertThat(refused.why()).contains("the JVM has refused");

        Files.setLastModifiedTime(home.resolve("t.jar"), FileTime.fromMillis(1000));
        assertThat(look("java -jar t.jar", true).recording()).isPresent();
    }

    @Test
    void ofSeveralMakersOneGoesOn() throws Exception {
        ClassArchive mine = look("java -jar t.jar", true);
        Path list = mine.recording().orElseThrow().resolve("1.txt");
        write(list, "A\n");
        var lock = new ProcessLock(folder.lock(program()));
        try (lock) {
            new ArchiveMaker(folder, program()).make(mine.recording().orElseThrow(), "");
        }
        assertThat(home.resolve("calls")).doesNotExist();
        assertThat(mine.recording().orElseThrow()).doesNotExist();
        assertThat(look("java -jar t.jar", true).archive()).isEmpty();
    }

    @Test
    void aMakerThatComesLateFindsTheArchiveOfTheFirst() throws Exception {
        ClassArchive first = look("java -jar t.jar", true);
        ClassArchive late = look("java -jar t.jar", true);
        make(first, "A\n");
        int calls = calls().size();

        make(late, "B\n");

        assertThat(calls()).hasSize(calls);
        assertThat(folder.classes(program())).hasContent("A\n");
    }

    @Test
    void aFailedJobsListsAreThrownAway() {
        ClassArchive first = look("java -jar t.jar", true);
        first.after(1, environment, true);

        assertThat(first.recording().orElseThrow()).doesNotExist();
        assertThat(home.resolve("calls")).doesNotExist();
    }

    @Test
    void aFolderInWhichOthersCanWriteIsNotUsed() throws Exception {
        make(look("java -jar t.jar", true), "A\n");
        Files.setPosixFilePermissions(home.resolve("cache/hvd/classes"), PosixFilePermissions.fromString("rwxrwxrwx"));

        ClassArchive open = look("java -jar t.jar", true);
        assertThat(open.forJava().words()).isEmpty();
        assertThat(open.why()).contains("others can write there");
    }

    @Test
    void aFolderThatCannotBeMadeCostsNothing() throws Exception {
        write(home.resolve("cache"), "a file where the folder would be");

        assertThat(look("java -jar t.jar", true).forJava().words()).isEmpty();
    }

    @Test
    void flagsAndPathsOfWhichThereIsNoArchiveAreLeftAlone() throws Exception {
        Files.createDirectories(home.resolve("classes"));
        for (String line : List.of(
                "java -Xshare:off -jar t.jar",
                "java -XX:SharedArchiveFile=x.jsa -jar t.jar",
                "java -XX:AOTCache=x.aot -jar t.jar",
                "java -XX:+UseZGC -jar t.jar",
                "java -cp classes:t.jar Main",
                "java -cp lib/* Main",
                "java -p lib -m m/Main",
                "java @flags -jar t.jar",
                "/bin/java17/java -jar t.jar",
                "sh t.sh")) {
            assertThat(look(line, true).forJava().words()).as(line).isEmpty();
        }
        environment.put("JDK_JAVA_OPTIONS", "-Xshare:off");
        assertThat(look("java -jar t.jar", true).forJava().words()).isEmpty();
    }

    @Test
    void theFlagAndTheVariableTurnItOff() {
        assertThat(look(Map.of(), "--no-class-archive", "java -jar t.jar", true).why())
                .contains("turned off");
        assertThat(look(Map.of("HVD_CLASS_ARCHIVE", "off"), "-v", "java -jar t.jar", true)
                        .why())
                .contains("turned off");
    }

    @Test
    void jarsBeforeTheFirstFolderAreWhatAnArchiveIsOf() throws Exception {
        Files.createDirectories(home.resolve("classes"));

        assertThat(answer("java -cp t.jar:gone.jar:classes:lib/a.jar Main")
                        .program()
                        .orElseThrow()
                        .jars())
                .containsExactly(home.resolve("t.jar").toString());
    }

    @Test
    void theHeapsSizeAndTheJarsDecideWhichArchiveItIs() {
        String name = answer("java -jar t.jar").program().orElseThrow().name();

        assertThat(answer("java -Dx=y -cp t.jar Main a b")
                        .program()
                        .orElseThrow()
                        .name())
                .isEqualTo(name);
        assertThat(answer("java -Xmx64g -jar t.jar").program().orElseThrow().name())
                .isNotEqualTo(name);
        assertThat(answer("java -cp t.jar:lib/a.jar Main")
                        .program()
                        .orElseThrow()
                        .name())
                .isNotEqualTo(name);
    }

    @Test
    void onlyTheArchivesUsedLastStay() throws Exception {
        for (int i = 0; i <= ArchiveSweep.MOST_ARCHIVES; i++) {
            jar("t" + i + ".jar", "");
            make(look("java -jar t" + i + ".jar", true), "A\n");
            Files.setLastModifiedTime(
                    folder.record(answer("java -jar t" + i + ".jar").program().orElseThrow()),
                    FileTime.from(Instant.now().minusSeconds(1000 - i)));
        }
        var later = new ArchiveFolder(
                home.resolve("cache/hvd/classes"), Clock.offset(Clock.systemUTC(), Duration.ofHours(1)));

        new ArchiveSweep(later.path(), later.clock()).run();

        assertThat(look("java -jar t0.jar", true).archive()).isEmpty();
        assertThat(look("java -jar t1.jar", true).archive()).isPresent();
        try (Stream<Path> files = Files.list(home.resolve("cache/hvd/classes"))) {
            assertThat(files.filter(file -> file.toString().endsWith(".jsa"))).hasSize(ArchiveSweep.MOST_ARCHIVES);
        }
    }

    @Test
    void whatNobodyHasUsedForAMonthGoesAndSoDoAbandonedLists() throws Exception {
        make(look("java -jar t.jar", true), "A\n");
        Path abandoned = look("java -jar t.jar other", true).recording().orElseThrow();
        Path folderOfArchives = home.resolve("cache/hvd/classes");

        new ArchiveSweep(folderOfArchives, Clock.offset(Clock.systemUTC(), Duration.ofDays(31))).run();

        assertThat(abandoned).doesNotExist();
        try (Stream<Path> files = Files.list(folderOfArchives)) {
            assertThat(files.filter(file -> !file.toString().endsWith(".lock"))).isEmpty();
        }
    }

    /** A lock of this process's would be refused by an exception, where another's is refused by the system. */
    private static final class ProcessLock implements AutoCloseable {
        private final Process holder;

        ProcessLock(Path file) throws IOException {
            Files.createDirectories(file.getParent());
            FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.WRITE)
                    .close();
            holder = new ProcessBuilder(
                            Path.of(System.getProperty("java.home"), "bin", "java")
                                    .toString(),
                            "-Xint",
                            "-cp",
                            System.getProperty("surefire.test.class.path", System.getProperty("java.class.path")),
                            LockHolder.class.getName(),
                            file.toString())
                    .start();
            holder.getInputStream().read(); // it holds the lock
        }

        @Override
        public void close() {
            holder.destroyForcibly();
        }
    }

    private void make(ClassArchive archive, String classes) throws Exception {
        Path recording = archive.recording().orElseThrow();
        write(recording.resolve("1.txt"), "A");
        write(recording.resolve("2.txt"), classes);
        new ArchiveMaker(folder, archive.program().orElseThrow()).make(recording, archive.subcommand());
    }

    private ArchivedProgram program() {
        return answer("java -jar t.jar").program().orElseThrow();
    }

    private ArchivedProgram.Answer answer(String line) {
        return ArchivedProgram.of(
                JavaLine.of(List.of(line.split(" ")), environment).orElseThrow(), environment, home);
    }

    private ClassArchive look(String line, boolean starts) {
        return look(Map.of(), "--tcp", line, starts);
    }

    private ClassArchive look(Map<String, String> more, String flag, String line, boolean starts) {
        environment.putAll(more);
        String[] words = Stream.of(Stream.of("-np", "2", flag), Stream.of(line.split(" ")))
                .flatMap(part -> part)
                .filter(word -> !word.equals("-v"))
                .toArray(String[]::new);
        LaunchSettings settings = LaunchOptions.parse(environment, words);
        var machine = new MachineFacts(
                "here",
                2,
                1000,
                false,
                Optional.empty(),
                OptionalLong.of(1L << 30),
                Set.of("localhost"),
                Set.of("lo"),
                environment);
        var version = new MpiVersion(MpiVersion.Flavour.OPEN_MPI, 4, 1, "Open MPI 4.1.4");
        return JavaLine.of(settings.command(), environment)
                .map(java -> ClassArchive.look(new LaunchFacts(settings, machine, version), java, folder, home, starts))
                .orElse(ClassArchive.none(""));
    }

    private List<String> calls() throws IOException {
        return Files.readAllLines(home.resolve("calls"));
    }

    private void jar(String name, String classPath) throws IOException {
        var manifest = new Manifest();
        manifest.getMainAttributes().put(Attributes.Name.MANIFEST_VERSION, "1.0");
        if (!classPath.isEmpty()) {
            manifest.getMainAttributes().put(Attributes.Name.CLASS_PATH, classPath);
        }
        Path file = home.resolve(name);
        Files.createDirectories(file.getParent());
        try (OutputStream out = Files.newOutputStream(file);
                var jar = new JarOutputStream(out, manifest)) {
            jar.finish();
        }
    }

    private static void write(Path file, String text) throws IOException {
        Files.createDirectories(file.getParent());
        Files.writeString(file, text);
    }

    /** A number that no process has: the kernel gives none so high. */
    private static final long NOBODY = 999_999_999;

    @Test
    void aLaterStartDeletesTheListsOfAKilledJobAndNoOthers() throws Exception {
        make(look("java -jar t.jar", true), "A\n");
        Path archives = home.resolve("cache/hvd/classes");
        Path living = look("java -jar t.jar other", true).recording().orElseThrow();
        String boot = living.getFileName().toString().split("-")[1];
        Path killed = lists(archives, "recording-" + boot + "-" + NOBODY + "-1");
        Path killedLauncher = lists(archives, "recording-launcher-" + boot + "-" + NOBODY);
        Path ofAnotherHost = lists(archives, "recording-00000000-" + NOBODY + "-1");
        Path ofAnEarlierHvd = lists(archives, "recording-launcher-" + NOBODY);
        Path beingMade = lists(archives, "recording-" + boot + "-" + NOBODY + "-2");
        for (Path old : List.of(living, killed, killedLauncher, ofAnotherHost, ofAnEarlierHvd)) {
            Files.setLastModifiedTime(old, FileTime.from(Instant.now().minus(Duration.ofHours(2))));
        }

        look("java -jar t.jar", true);

        assertThat(killed).doesNotExist();
        assertThat(killedLauncher).doesNotExist();
        assertThat(List.of(living, ofAnotherHost, ofAnEarlierHvd, beingMade))
                .allSatisfy(folder -> assertThat(folder).exists());
        ClassLists.clear(archives, Clock.offset(Clock.systemUTC(), Duration.ofDays(2)));
        assertThat(living).exists();
        assertThat(List.of(ofAnotherHost, ofAnEarlierHvd, beingMade))
                .allSatisfy(folder -> assertThat(folder).doesNotExist());
    }

    private static Path lists(Path archives, String name) throws IOException {
        Path folder = Files.createDirectory(archives.resolve(name));
        write(folder.resolve("1.txt"), "A");
        return folder;
    }
}
