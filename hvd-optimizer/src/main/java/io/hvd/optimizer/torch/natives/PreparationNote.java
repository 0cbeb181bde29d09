package io.hvd.optimizer.torch.natives;

import io.hvd.file.FileFact;
import io.hvd.file.RegularFile;
import io.hvd.file.WholeFile;
import java.io.File;
import java.io.IOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;
import java.util.TreeSet;
import java.util.jar.Attributes;
import java.util.jar.JarFile;
import java.util.jar.Manifest;
import java.util.stream.Stream;

/**
 * What {@link NativePreparation} has found out about a class path, noted down in JavaCPP's cache for later processes: that
 * everything is unpacked, and which libraries no jar has. Both take a rank some 60 ms, and opening jars is most of it.
 *
 * <p>A note counts only if nothing has changed that the answer depends on: the JVM's and JavaCPP's properties, the
 * {@link FileFact} of each jar, also of those that jars name in their manifests, and of each unpacked file. Folders on the
 * class path must have no natives then, as they had none when the note was written.
 *
 * @param conditions lines that must be the same at another time
 * @param search what is known of the libraries
 */
record PreparationNote(List<String> conditions, List<String> search) {
    private static final String FORM = "hvd preparation of LibTorch 3";
    private static final String PREFIX = ".hvd.prepared-";
    private static final String END = "end";
    private static final String NATIVES = "org/bytedeco";
    private static final String FOLDER = "folder ";
    private static final int MOST_NOTES = 16;

    /** The lines that hold for the process, whatever files it finds. */
    static List<String> process(Properties properties) {
        Set<String> names = new TreeSet<>(
                List.of("java.class.path", "java.home", "java.vm.version", "java.vm.name", "os.arch", "os.name"));
        properties.stringPropertyNames().stream()
                .filter(name -> name.startsWith("org.bytedeco."))
                .forEach(names::add);
        if (Stream.of(properties.getProperty("java.class.path").split(File.pathSeparator))
                        .anyMatch(word -> !new File(word).isAbsolute())
                || names.stream().anyMatch(name -> name.endsWith("path") && name.startsWith("org.bytedeco."))) {
            names.add("user.dir"); // which relative names mean, so that programs with none share a note
        }
        List<String> lines = new ArrayList<>(List.of(FORM));
        names.forEach(name -> lines.add(name + "=" + properties.getProperty(name)));
        return lines;
    }

    /** The search as an earlier process has noted it down; empty if there is no note, or something has changed. */
    static Optional<List<String>> read(Path cache, List<String> process) {
        List<String> lines;
        try {
            Path file = file(cache, process);
            lines = Files.exists(file) ? Files.readAllLines(RegularFile.at(file)) : List.of();
        } catch (IOException e) {
            return Optional.empty();
        }
        int files = process.size();
        if (lines.size() <= files + 1
                || !lines.subList(0, files).equals(process)
                || !lines.get(lines.size() - 1).equals(END)) {
            return Optional.empty();
        }
        int search = lines.indexOf("");
        for (String line : lines.subList(files, Math.max(files, search))) {
            if (!isAsBefore(line)) {
                return Optional.empty();
            }
        }
        return search < files ? Optional.empty() : Optional.of(lines.subList(search + 1, lines.size() - 1));
    }

    private static boolean isAsBefore(String line) {
        if (line.startsWith(FOLDER)) {
            File folder = new File(line.substring(FOLDER.length()));
            return !folder.isFile() && !new File(folder, NATIVES).exists();
        }
        return FileFact.holds(line);
    }

    /**
     * The note of this process.
     *
     * @param unpacked folders with what was unpacked
     * @return empty if the class path has something that a note could not tell of
     */
    static Optional<PreparationNote> of(List<String> process, String classPath, Set<Path> unpacked, List<String> search)
            throws IOException {
        List<String> conditions = new ArrayList<>(process);
        for (Path entry : entries(classPath)) {
            conditions.add(Files.isRegularFile(entry) ? FileFact.of(entry) : FOLDER + entry);
        }
        for (Path folder : unpacked) {
            try (Stream<Path> files = Files.walk(folder)) {
                files.filter(Files::isRegularFile).sorted().map(FileFact::of).forEach(conditions::add);
            }
        }
        boolean tells = conditions.stream().skip(process.size()).allMatch(PreparationNote::isAsBefore)
                && Stream.of(conditions, search).flatMap(List::stream).noneMatch(PreparationNote::breaksTheForm);
        return tells ? Optional.of(new PreparationNote(conditions, search)) : Optional.empty();
    }

    private static boolean breaksTheForm(String line) {
        return line.isEmpty() || line.indexOf('\n') >= 0 || line.indexOf('\r') >= 0;
    }

    /** The files and folders of a class path, and those that its jars name, whether they are there or not. */
    private static Set<Path> entries(String classPath) throws IOException {
        Set<Path> entries = new LinkedHashSet<>();
        List<Path> open = new ArrayList<>();
        for (String word : classPath.split(File.pathSeparator)) {
            open.add(Path.of(word).toAbsolutePath().normalize());
        }
        while (!open.isEmpty()) {
            Path entry = open.remove(0);
            if (entries.add(entry) && Files.isRegularFile(entry)) {
                open.addAll(named(entry));
            }
        }
        return entries;
    }

    private static List<Path> named(Path jar) throws IOException {
        try (JarFile file = new JarFile(jar.toFile(), false)) {
            Manifest manifest = file.getManifest();
            String words =
                    manifest == null ? null : manifest.getMainAttributes().getValue(Attributes.Name.CLASS_PATH);
            List<Path> named = new ArrayList<>();
            for (String word : words == null ? new String[0] : words.trim().split(" +")) {
                URI place = jar.toUri().resolve(word);
                if (!"file".equals(place.getScheme())) {
                    throw new IOException(jar + " names " + word + ", which is no file");
                }
                named.add(Path.of(place).normalize());
            }
            return named;
        } catch (IllegalArgumentException e) {
            throw new IOException(jar + " names what cannot be read: " + e.getMessage(), e);
        }
    }

    /** Writes it for later processes, and deletes the oldest ones of other class paths. */
    void write(Path cache, List<String> process) throws IOException {
        List<String> lines = new ArrayList<>(conditions);
        lines.add("");
        lines.addAll(search);
        lines.add(END);
        WholeFile.write(file(cache, process), (String.join("\n", lines) + "\n").getBytes(StandardCharsets.UTF_8));
        List<Path> notes = new ArrayList<>();
        try (DirectoryStream<Path> files = Files.newDirectoryStream(cache, PREFIX + "*")) {
            files.forEach(notes::add);
        }
        notes.sort(Comparator.comparing((Path note) -> note.toFile().lastModified())
                .reversed());
        for (Path note : notes.subList(Math.min(notes.size(), MOST_NOTES), notes.size())) {
            Files.deleteIfExists(note);
        }
    }

    /** Other processes may have the same name by chance; the lines inside decide. */
    private static Path file(Path cache, List<String> process) {
        return cache.resolve(PREFIX + Integer.toHexString(process.hashCode()));
    }
}
