package io.hvd.launch.archive;

import java.io.IOException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Folders {@code recording-BOOT-PID-...} of lists of classes, which a job's JVMs write until the job is over. Of a job that was
 * killed they stay: every later start deletes those whose launcher ran under the kernel that runs now and is gone. Who makes an
 * archive of the lists when the launcher has ended touches the folder first, and so has a while for it.
 *
 * <p>A folder of another host, of a kernel before, or of a process that is not seen from here, may still be written into. It
 * costs an archive and nothing else if it is deleted then, and it is, after a day.
 */
final class ClassLists {
    /** Begin of the names; that of the folder of horovodrun's own JVM goes on with the word {@code launcher}. */
    static final String PREFIX = "recording-";

    private static final Pattern NAME = Pattern.compile(PREFIX + "(?:launcher-)?([0-9a-f]{8})-(\\d{1,18})(?:-.*)?");
    private static final Path BOOT = Path.of("/proc/sys/kernel/random/boot_id");
    private static final Duration TAKEN_OVER = Duration.ofMillis(2 * ArchiveMaker.LIMIT.toMillis());
    private static final Duration ABANDONED = Duration.ofDays(1);
    private static final Duration LONGEST_JOB = Duration.ofDays(30);

    private ClassLists() {}

    /** The begin of the name of a folder of this process. */
    static String prefixOfMine() {
        return PREFIX + boot() + "-" + ProcessHandle.current().pid() + "-";
    }

    /** Deletes what killed jobs have left. */
    static void clear(Path archives, Clock clock) {
        try (DirectoryStream<Path> folders = Files.newDirectoryStream(archives, PREFIX + "*")) {
            String boot = boot();
            for (Path folder : folders) {
                Duration age = Duration.between(changed(folder), clock.instant());
                if (age.compareTo(mostAge(folder.getFileName().toString(), boot)) > 0) {
                    discard(folder);
                }
            }
        } catch (IOException | DirectoryIteratorException e) {
            return; // the next start tries again
        }
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

    private static Duration mostAge(String name, String boot) {
        Matcher parts = NAME.matcher(name);
        if (!parts.matches() || !parts.group(1).equals(boot)) {
            return ABANDONED;
        }
        return Files.exists(Path.of("/proc", parts.group(2))) ? LONGEST_JOB : TAKEN_OVER;
    }

    private static Instant changed(Path folder) throws IOException {
        try {
            return Files.getLastModifiedTime(folder).toInstant();
        } catch (NoSuchFileException e) {
            return Instant.MAX; // another start deletes it
        }
    }

    private static String boot() {
        try {
            return Files.readString(BOOT).substring(0, 8);
        } catch (IOException e) {
            return "unknown"; // in no pattern
        }
    }
}
