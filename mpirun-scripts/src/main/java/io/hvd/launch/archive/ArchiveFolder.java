package io.hvd.launch.archive;

import io.hvd.file.RegularFile;
import io.hvd.file.WholeFile;
import io.hvd.launch.hosts.HostCache;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Clock;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * The user's own folder of class-data archives, {@code ~/.cache/hvd/classes}. A record {@code NAME.txt} tells what is known of
 * a program ({@link KnownArchive}). It is written only when the archive is complete, so a record that fits means an archive
 * that fits. Whatever is damaged, foreign or missing counts as not there.
 */
public record ArchiveFolder(Path path, Clock clock) {

    private static final long MOST_RECORD_BYTES = 1 << 20;

    /** Below the same folder as the cache of hosts. */
    public static ArchiveFolder of(Map<String, String> environment) {
        return new ArchiveFolder(HostCache.file(environment).resolveSibling("classes"), Clock.systemUTC());
    }

    /** Empty if nothing is known of the program as it is now: it was never looked at, or its files have changed since. */
    Optional<KnownArchive> known(ArchivedProgram program) {
        Path record = record(program);
        try {
            if (!isMine() || Files.size(record) > MOST_RECORD_BYTES) {
                return Optional.empty();
            }
            return KnownArchive.read(path, Files.readAllLines(RegularFile.at(record)));
        } catch (IOException e) {
            return Optional.empty();
        }
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
        List<String> lines = new KnownArchive(archive, subcommands).lines(facts);
        byte[] text = (String.join("\n", lines) + "\n").getBytes(StandardCharsets.UTF_8);
        WholeFile.write(record(program), text);
    }

    /** A new folder for lists of classes; empty where nothing can be written. */
    Optional<Path> newRecording() {
        if (path.toString().matches(".*[:%].*")) {
            return Optional.empty(); // the JVM would take the name apart
        }
        try {
            var owner = PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------"));
            Files.createDirectories(path, owner);
            return isMine()
                    ? Optional.of(Files.createTempDirectory(path, ClassLists.prefixOfMine(), owner))
                    : Optional.empty();
        } catch (IOException | UnsupportedOperationException e) {
            return Optional.empty();
        }
    }

    /** A JVM maps what lies here as its own code, so nobody else may be able to write here. */
    private boolean isMine() throws IOException {
        Set<PosixFilePermission> granted = Files.getPosixFilePermissions(path, LinkOption.NOFOLLOW_LINKS);
        boolean closed = !granted.contains(PosixFilePermission.GROUP_WRITE)
                && !granted.contains(PosixFilePermission.OTHERS_WRITE);
        return closed
                && Files.isDirectory(path, LinkOption.NOFOLLOW_LINKS)
                && Files.getAttribute(path, "unix:uid").equals(Files.getAttribute(Path.of("/proc/self"), "unix:uid"));
    }

    /** Marks the archive as used now, so that it stays when old ones go. */
    void touch(ArchivedProgram program) {
        try {
            Files.setLastModifiedTime(record(program), FileTime.from(clock.instant()));
        } catch (IOException e) {
            return; // a folder that can only be read; nobody deletes anything there either
        }
    }

    /** Makes an empty file, which tells a script that there is no use in trying to make an archive. */
    void refuse(Path file) throws IOException {
        if (isMine() && Files.notExists(file)) {
            Files.createFile(file);
        }
    }

    Path record(ArchivedProgram program) {
        return path.resolve(program.name() + ".txt");
    }

    /** The merged list of classes of all subcommands. */
    Path classes(ArchivedProgram program) {
        return path.resolve(program.name() + ".classes");
    }

    Path lock(ArchivedProgram program) {
        return path.resolve(program.name() + ".lock");
    }

    /** A name that no archive has had, so that a JVM that is just starting with the old one is not disturbed. */
    Path newArchive(ArchivedProgram program) {
        return path.resolve(program.name() + "-" + Long.toString(clock.millis(), Character.MAX_RADIX) + ".jsa");
    }
}
