package io.hvd.top;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * The pages that processes of this host have open. The files have no names, so they are found in /proc, which shows the open
 * files of a process only to the same user and to root.
 */
final class OpenPages {
    private static final Pattern PAGE = Pattern.compile(".*/hvd-status-[^/]*\\.shm \\(deleted\\)");
    private static final String PROCESS = "[0-9]*";
    private static final int MOST_BYTES = 1 << 20;
    /** A page is being written for microseconds. */
    private static final int LOOKS = 5;

    private final Path proc;

    OpenPages(Path proc) {
        this.proc = proc;
    }

    /** A rank's page and its process. */
    record Sighting(RankPage page, ProcessFacts process) {}

    /** The ranks, by job and number. A process that is just being started may have the files of another one, for a moment. */
    List<Sighting> ranks() {
        Map<String, Sighting> found = new LinkedHashMap<>();
        for (Path process : entries(proc, PROCESS)) {
            for (RankPage page : pages(process)) {
                ProcessFacts.read(process)
                        .ifPresent(
                                facts -> found.putIfAbsent(page.job() + " " + page.rank(), new Sighting(page, facts)));
            }
        }
        return found.values().stream()
                .sorted(Comparator.comparing((Sighting one) -> one.page().job())
                        .thenComparing(one -> one.page().rank()))
                .toList();
    }

    private static List<RankPage> pages(Path process) {
        List<RankPage> pages = new ArrayList<>();
        for (Path file : entries(process.resolve("fd"), "*")) {
            if (isPage(file)) {
                read(file).ifPresent(pages::add);
            }
        }
        return pages;
    }

    private static boolean isPage(Path file) {
        try {
            return PAGE.matcher(Files.readSymbolicLink(file).toString()).matches() && Files.isRegularFile(file);
        } catch (IOException e) {
            return false;
        }
    }

    private static Optional<RankPage> read(Path file) {
        Optional<RankPage> page = Optional.empty();
        for (int look = 0; page.isEmpty() && look < LOOKS; look++) {
            try (InputStream in = Files.newInputStream(file)) {
                page = RankPage.parse(in.readNBytes(MOST_BYTES));
            } catch (IOException e) {
                return Optional.empty(); // the process has ended
            }
        }
        return page;
    }

    /** None where this user may not look. */
    private static List<Path> entries(Path folder, String pattern) {
        List<Path> entries = new ArrayList<>();
        try (DirectoryStream<Path> all = Files.newDirectoryStream(folder, pattern)) {
            all.forEach(entries::add);
        } catch (IOException | DirectoryIteratorException e) {
            return entries;
        }
        return entries;
    }
}
