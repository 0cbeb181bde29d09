package io.hvd.optimizer.torch.natives;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;
import java.util.function.Consumer;
import java.util.jar.Attributes;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import java.util.stream.Stream;
import java.util.zip.ZipEntry;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class PreparationNoteTest {
    private static final List<String> SEARCH = List.of("cudnn@.9\tnccl@.2", "platform.linkpath");

    @TempDir
    private Path folder;

    private Path cache;
    private Path program;
    private Path namedJar;
    private Path classes;
    private Path unpacked;
    private final Properties properties = new Properties();

    @BeforeEach
    void aProgramWhoseJarNamesAnotherOne() throws IOException {
        cache = Files.createDirectory(folder.resolve("cache"));
        classes = Files.createDirectory(folder.resolve("classes"));
        Path native1 = Files.createDirectories(cache.resolve("a.jar/org/bytedeco/pytorch"));
        unpacked = Files.writeString(native1.resolve("libc10.so"), "natives");
        namedJar = jar(folder.resolve("library.jar"), "");
        program = jar(folder.resolve("program.jar"), "library.jar absent.jar");
        properties.setProperty("java.class.path", program + ":" + classes);
        properties.setProperty("os.arch", "amd64");
        properties.setProperty("org.bytedeco.javacpp.platform", "linux-x86_64");
    }

    private static Path jar(Path file, String classPath, String... entries) throws IOException {
        var manifest = new Manifest();
        manifest.getMainAttributes().put(Attributes.Name.MANIFEST_VERSION, "1.0");
        manifest.getMainAttributes().put(Attributes.Name.CLASS_PATH, classPath);
        try (OutputStream out = Files.newOutputStream(file);
                var jar = new JarOutputStream(out, manifest)) {
            for (String entry : entries) {
                jar.putNextEntry(new ZipEntry(entry));
            }
        }
        return file;
    }

    private Optional<PreparationNote> note() throws IOException {
        return PreparationNote.of(
                process(), properties.getProperty("java.class.path"), Set.of(cache.resolve("a.jar")), SEARCH);
    }

    private List<String> process() {
        return PreparationNote.process(properties);
    }

    private void write() throws IOException {
        note().orElseThrow().write(cache, process());
    }

    private Optional<List<String>> read() {
        return PreparationNote.read(cache, process());
    }

    @Test
    void aLaterProcessReadsWhatAnEarlierOneHasFound() throws IOException {
        assertThat(read()).isEmpty();
        write();
        assertThat(read()).contains(SEARCH);
        properties.setProperty("line.separator", "\r");
        assertThat(read()).as("a property that nothing depends on").contains(SEARCH);
    }

    /** Something that happens to a program between two starts. */
    private interface Change {
        void to(PreparationNoteTest test) throws IOException;
    }

    private record Named(String name, Change change) {
        @Override
        public String toString() {
            return name;
        }
    }

    private static Stream<Named> changes() {
        return Stream.of(
                new Named("a jar of the class path", test -> jar(test.program, "library.jar absent.jar", "x")),
                new Named("a jar that a manifest names", test -> jar(test.namedJar, "", "x")),
                new Named("a jar of the same size", test -> later(test.namedJar)),
                new Named("the directory of a jar of the same size and time", test -> inPlace(test.namedJar, 23)),
                new Named("an unpacked file of the same size and time", test -> inPlace(test.unpacked, 1)),
                new Named("a jar that has gone", test -> Files.delete(test.namedJar)),
                new Named("a jar that a manifest named in vain", test -> jar(test.folder.resolve("absent.jar"), "")),
                new Named(
                        "natives in a folder that was named in vain",
                        test -> Files.createDirectories(test.folder.resolve("absent.jar/org/bytedeco"))),
                new Named(
                        "natives in a folder of classes",
                        test -> Files.createDirectories(test.classes.resolve("org/bytedeco/pytorch"))),
                new Named("an unpacked file that has gone", test -> Files.delete(test.unpacked)),
                new Named("an unpacked file of another size", test -> Files.writeString(test.unpacked, "nat")),
                new Named("an unpacked file of another time", test -> later(test.unpacked)),
                new Named("another class path", property("java.class.path", "other.jar")),
                new Named("another platform", property("org.bytedeco.javacpp.platform", "linux-arm64")),
                new Named(
                        "a further setting of JavaCPP's",
                        property("org.bytedeco.javacpp.platform.preloadpath", "/opt")),
                new Named("another JVM", property("java.home", "/opt/jdk")),
                new Named("a setting of JavaCPP's with paths", property("org.bytedeco.javacpp.pathsFirst.path", "lib")),
                new Named("a note that is cut off", test -> cut(test.noteFile())));
    }

    private static Change property(String name, String value) {
        Consumer<PreparationNoteTest> set = test -> test.properties.setProperty(name, value);
        return set::accept;
    }

    private static void later(Path file) throws IOException {
        Files.setLastModifiedTime(
                file, FileTime.fromMillis(Files.getLastModifiedTime(file).toMillis() + 1));
    }

    /** Changes one byte, so many before the end, of a file that keeps its time. */
    private static void inPlace(Path file, int beforeEnd) throws IOException {
        FileTime time = Files.getLastModifiedTime(file);
        byte[] bytes = Files.readAllBytes(file);
        bytes[bytes.length - beforeEnd] ^= 1;
        Files.write(file, bytes);
        Files.setLastModifiedTime(file, time);
    }

    private static void cut(Path note) throws IOException {
        List<String> lines = Files.readAllLines(note);
        Files.write(note, lines.subList(0, lines.size() - 1));
    }

    private Path noteFile() throws IOException {
        try (Stream<Path> files = Files.list(cache)) {
            return files.filter(file -> file.getFileName().toString().startsWith(".hvd.prepared-"))
                    .findFirst()
                    .orElseThrow();
        }
    }

    @ParameterizedTest
    @MethodSource("changes")
    void aNoteDoesNotCountAfterAChangeOf(Named change) throws IOException {
        write();
        change.change().to(this);
        assertThat(read()).isEmpty();
    }

    @Test
    void theWorkingFolderCountsOnlyWhereANameIsRelative() throws IOException {
        properties.setProperty("user.dir", "/opt/a");
        write();
        properties.setProperty("user.dir", "/opt/b");
        assertThat(read()).as("all names are absolute").contains(SEARCH);

        properties.setProperty("java.class.path", properties.getProperty("java.class.path") + ":library.jar");
        write();
        assertThat(read()).contains(SEARCH);
        properties.setProperty("user.dir", "/opt/a");
        assertThat(read()).as("a jar has a relative name").isEmpty();
    }

    /** A process of another class path may get the same name for its note. */
    @Test
    void aNoteOfAnotherProcessUnderTheSameNameDoesNotCount() throws IOException {
        write();
        Path file = noteFile();
        List<String> lines = Files.readAllLines(file);
        Files.write(
                file,
                lines.stream()
                        .map(line -> line.replace("os.arch=amd64", "os.arch=arm64"))
                        .toList());
        assertThat(read()).isEmpty();
    }

    @Test
    void aClassPathWithUnpackedNativesHasNoNote() throws IOException {
        Files.createDirectories(classes.resolve("org/bytedeco"));
        assertThat(note()).isEmpty();
    }

    @Test
    void aManifestThatNamesWhatIsNoFileHasNoNote() throws IOException {
        jar(program, "http://127.0.0.1/library.jar");
        assertThatThrownBy(this::note).isInstanceOf(IOException.class).hasMessageContaining("which is no file");
    }

    @Test
    void onlyTheNewestNotesAreKept() throws IOException {
        for (int i = 0; i < 20; i++) {
            properties.setProperty("org.bytedeco.turn", Map.of("number", i).toString());
            write();
        }
        try (Stream<Path> files = Files.list(cache)) {
            assertThat(files.filter(file -> file.getFileName().toString().startsWith(".hvd.prepared-")))
                    .hasSize(16);
        }
        assertThat(read()).contains(SEARCH);
    }
}
