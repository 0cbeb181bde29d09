package io.hvd.launch.archive;

import io.hvd.file.FileFact;
import io.hvd.file.RegularFile;
import io.hvd.file.WholeFile;
import io.hvd.launch.hosts.HostCache;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Clock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;

/**
 * The user's own folder of class-data archives, {@code ~/.cache/hvd/classes}. A record {@code NAME.txt} names the archive of a
 * program, the files that it was made of, and the subcommands whose classes it has. A record is written only when its archive
 * is complete, so a record that fits means an archive that fits. Whatever is damaged, foreign or missing counts as not there.
 */
public final class ArchiveFolder {

    /** An archive of a program with LibTorch has some 40 MB. */
    static final int MOST_ARCHIVES = 8;

    private static final Duration UNUSED = Duration.ofDays(30);
    private static final String FORM = "hvd class-data archive 2";

    /** Begin of the names of files that lead to archives. */
    private static final String LINK = "launcher-";

    private static final int MOST_SUBCOMMANDS = 16;
    private static final long MOST_RECORD_BYTES = 1 << 20;

    private final Path folder;
    private final Clock clock;

    ArchiveFolder(Path folder, Clock clock) {
        this.folder = folder;
        this.clock = clock;
    }

    /** Below the same folder as the cache of hosts. */
    public static ArchiveFolder of(Map<String, String> environment) {
        return new ArchiveFolder(HostCache.file(environment).resolveSibling("classes"), Clock.systemUTC());
    }

    /**
     * What is known of a program's archive.
     *
     * @param file the archive; empty if there is none, because none could be made of these files
     * @param subcommands those whose classes it has
     */
    record Known(Optional<Path> file, Set<String> subcommands) {
        boolean has(String subcommand) {
            return subcommands.contains(subcommand) || subcommands.size() >= MOST_SUBCOMMANDS;
        }
    }

    /** Empty if nothing is known of the program as it is now: it was never looked at, or its files have changed since. */
    Optional<Known> known(ArchivedProgram program) {
        Path record = record(program);
        try {
            if (!isMine() || Files.size(record) > MOST_RECORD_BYTES) {
                return Optional.empty();
            }
            return read(Files.readAllLines(RegularFile.at(record)));
        } catch (IOException e) {
            return Optional.empty();
        }
    }

    private Optional<Known> read(List<String> lines) {
        if (lines.size() < 3 || !lines.get(0).equals(FORM)) {
            return Optional.empty();
        }
        boolean fits = lines.stream().skip(3).allMatch(FileFact::holds);
        Set<String> subcommands = new TreeSet<>(List.of(lines.get(2).split(" ", -1)));
        String name = lines.get(1);
        if (name.isEmpty()) {
            return fits ? Optional.of(new Known(Optional.empty(), subcommands)) : Optional.empty();
        }
        Path file = folder.resolve(name);
        boolean inside = file.normalize().getParent().equals(folder);
        return fits && inside && RegularFile.isAt(file) && Files.isReadable(file)
                ? Optional.of(new Known(Optional.of(file), subcommands))
                : Optional.empty();
    }

    /**
     * Notes down what is known of a program now.
     *
     * @param facts of the program's files, as they were before the archive was made: if one has changed since, the record
     *     does not fit
     * @param archive a complete file in this folder; empty if none can be made
     */
    void write(ArchivedProgram program, List<String> facts, Optional<Path> archive, Set<String> subcommands)
            throws IOException {
        List<String> lines = new ArrayList<>(List.of(
                FORM, archive.map(file -> file.getFileName().toString()).orElse(""), String.join(" ", subcommands)));
        archive.map(FileFact::of).ifPresent(lines::add);
        lines.addAll(facts);
        byte[] text = (String.join("\n", lines) + "\n").getBytes(StandardCharsets.UTF_8);
        WholeFile.write(record(program), text);
    }

    /** A new folder for lists of classes; empty where nothing can be written. */
    Optional<Path> newRecording() {
        if (folder.toString().matches(".*[:%].*")) {
            return Optional.empty(); // the JVM would take the name apart
        }
        try {
            var owner = PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------"));
            Files.createDirectories(folder, owner);
            return isMine()
                    ? Optional.of(Files.createTempDirectory(folder, ClassLists.prefixOfMine(), owner))
                    : Optional.empty();
        } catch (IOException | UnsupportedOperationException e) {
            return Optional.empty();
        }
    }

    /** Deletes lists of classes that killed jobs have left. */
    void clearLists() {
        ClassLists.clear(folder, clock);
    }

    /** A JVM maps what lies here as its own code, so nobody else may be able to write here. */
    private boolean isMine() throws IOException {
        Set<PosixFilePermission> granted = Files.getPosixFilePermissions(folder, LinkOption.NOFOLLOW_LINKS);
        boolean closed = !granted.contains(PosixFilePermission.GROUP_WRITE)
                && !granted.contains(PosixFilePermission.OTHERS_WRITE);
        return closed
                && Files.isDirectory(folder, LinkOption.NOFOLLOW_LINKS)
                && Files.getAttribute(folder, "unix:uid").equals(Files.getAttribute(Path.of("/proc/self"), "unix:uid"));
    }

    /** Marks the archive as used now, so that it stays when old ones go. */
    void touch(ArchivedProgram program) {
        try {
            Files.setLastModifiedTime(record(program), FileTime.from(clock.instant()));
        } catch (IOException e) {
            return; // a folder that can only be read; nobody deletes anything there either
        }
    }

    /**
     * Has a file of another name lead to the program's archive, for a script that knows no more than that name. The file is
     * empty if the JVM has refused to make an archive. Nothing is done where nothing is known of the program.
     */
    void lead(Path link, ArchivedProgram program) throws IOException {
        Optional<Known> known = known(program);
        if (known.isEmpty()) {
            return;
        }
        Path fresh = link.resolveSibling(
                link.getFileName() + "-" + ProcessHandle.current().pid());
        Files.deleteIfExists(fresh);
        if (known.get().file().isPresent()) {
            Files.createSymbolicLink(fresh, known.get().file().get().getFileName());
        } else {
            Files.createFile(fresh);
        }
        Files.move(fresh, link, StandardCopyOption.ATOMIC_MOVE);
    }

    /** Makes an empty file, which tells a script that there is no use in trying to make an archive. */
    void refuse(Path file) throws IOException {
        if (isMine() && Files.notExists(file)) {
            Files.createFile(file);
        }
    }

    /** Whether such a file tells what is known of the program now. */
    boolean leadsTo(Path link, ArchivedProgram program) {
        Optional<Known> known = known(program);
        try {
            return known.isPresent()
                    && (known.get().file().isPresent()
                            ? Files.isSymbolicLink(link)
                                    && Files.isSameFile(link, known.get().file().get())
                            : Files.size(link) == 0);
        } catch (IOException e) {
            return false;
        }
    }

    Path record(ArchivedProgram program) {
        return folder.resolve(program.name() + ".txt");
    }

    /** The merged list of classes of all subcommands. */
    Path classes(ArchivedProgram program) {
        return folder.resolve(program.name() + ".classes");
    }

    Path lock(ArchivedProgram program) {
        return folder.resolve(program.name() + ".lock");
    }

    /** A name that no archive has had, so that a JVM that is just starting with the old one is not disturbed. */
    Path newArchive(ArchivedProgram program) {
        return folder.resolve(program.name() + "-" + Long.toString(clock.millis(), Character.MAX_RADIX) + ".jsa");
    }

    /** Deletes all but the archives used last, what was not used for long, and what killed processes have left. */
    void clear() throws IOException {
        clearLists();
        List<Path> records = files(".txt").stream()
                .sorted(Comparator.comparing(ArchiveFolder::changed).reversed())
                .toList();
        Set<String> kept = new TreeSet<>();
        for (int i = 0; i < records.size(); i++) {
            Path record = records.get(i);
            if (i < MOST_ARCHIVES && isYounger(record, UNUSED)) {
                kept.add(archiveOf(record));
                kept.add(record.getFileName().toString().replace(".txt", ".classes"));
            } else {
                Files.deleteIfExists(record);
            }
        }
        for (String ending : List.of(".jsa", ".classes")) {
            for (Path file : files(ending)) {
                if (!kept.contains(file.getFileName().toString()) && !isBeingMade(file)) {
                    Files.deleteIfExists(file);
                }
            }
        }
        for (Path file : files("")) {
            String name = file.getFileName().toString();
            if (name.startsWith(LINK) && !isYounger(file, UNUSED)) {
                Files.deleteIfExists(file); // what it leads to has gone, or was not used for long
            }
        }
    }

    private static String archiveOf(Path record) throws IOException {
        try (Stream<String> lines = Files.lines(RegularFile.at(record))) {
            return lines.skip(1).findFirst().orElse("");
        }
    }

    /** An archive without a record may be another process's that is just making it. */
    private boolean isBeingMade(Path file) {
        return isYounger(file, Duration.ofMillis(2 * ArchiveMaker.LIMIT.toMillis()));
    }

    private boolean isYounger(Path file, Duration age) {
        return changed(file).toInstant().isAfter(clock.instant().minus(age));
    }

    private static FileTime changed(Path file) {
        try {
            return Files.getLastModifiedTime(file);
        } catch (IOException e) {
            return FileTime.fromMillis(0);
        }
    }

    private List<Path> files(String ending) throws IOException {
        List<Path> found = new ArrayList<>();
        try (DirectoryStream<Path> files = Files.newDirectoryStream(
                folder, file -> file.getFileName().toString().endsWith(ending))) {
            files.forEach(found::add);
        }
        return found;
    }

    /** Deletes a folder of lists, or leaves it to the maker of a later archive. */
    static void discard(Path recording) {
        try {
            delete(recording);
        } catch (IOException e) {
            return;
        }
    }

    /** Deletes a folder of lists. */
    static void delete(Path recording) throws IOException {
        try (DirectoryStream<Path> lists = Files.newDirectoryStream(recording)) {
            for (Path list : lists) {
                Files.deleteIfExists(list);
            }
        }
        Files.deleteIfExists(recording);
    }
}
