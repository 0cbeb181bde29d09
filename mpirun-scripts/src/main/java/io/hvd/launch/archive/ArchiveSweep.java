package io.hvd.launch.archive;

import io.hvd.file.RegularFile;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Clock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;

/** Keeps the folder of archives small: the archives used last stay, for a month. */
record ArchiveSweep(Path folder, Clock clock) {

    /** An archive of a program with LibTorch has some 40 MB. */
    static final int MOST_ARCHIVES = 8;

    private static final Duration UNUSED = Duration.ofDays(30);

    /** Begin of the names of files that lead to archives. */
    private static final String LINK = "launcher-";

    /** Deletes all but the archives used last, what was not used for long, and what killed processes have left. */
    void run() throws IOException {
        ClassLists.clear(folder, clock);
        Set<String> kept = keepUsed();
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

    /** Deletes the records of the other archives, and names the files that stay. */
    private Set<String> keepUsed() throws IOException {
        List<Path> records = files(".txt").stream()
                .sorted(Comparator.comparing(ArchiveSweep::changed).reversed())
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
        return kept;
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
}
