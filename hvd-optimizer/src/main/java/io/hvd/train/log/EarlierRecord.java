package io.hvd.train.log;

import io.hvd.log.HvdLogger;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/** The files of a run in a folder where another one begins. */
record EarlierRecord(Path folder) {
    private static final HvdLogger LOG = HvdLogger.of(EarlierRecord.class);
    private static final String EVENTS = "events.out.tfevents.";

    /** Whether there is a value, or an epoch on the card. */
    boolean exists() throws IOException {
        for (LineFormat format : LineFormat.values()) {
            Path file = folder.resolve(format.fileName());
            if (Files.exists(file) && Files.size(file) > format.titles().length() + 1) {
                return true;
            }
        }
        RunCardFile card = RunCardFile.in(folder);
        return card.exists() && !card.read().epochs().isEmpty();
    }

    /** Moves them into a folder of their own, {@code earlier-1} or the next number that is free. @return that folder */
    Path setAside() throws IOException {
        int number = 1;
        while (Files.exists(folder.resolve("earlier-" + number))) {
            number++;
        }
        Path aside = Files.createDirectory(folder.resolve("earlier-" + number));
        for (Path file : files()) {
            Files.move(file, aside.resolve(file.getFileName()));
        }
        LOG.warn(
                "{} holds the record of a run, and this one begins at its first step: the record is now in {}",
                folder,
                aside);
        return aside;
    }

    private List<Path> files() throws IOException {
        try (Stream<Path> all = Files.list(folder)) {
            return all.filter(file -> isOfARun(file.getFileName().toString())).toList();
        }
    }

    private static boolean isOfARun(String name) {
        return name.equals("run.json")
                || name.startsWith(EVENTS)
                || Stream.of(LineFormat.values()).anyMatch(format -> name.equals(format.fileName()));
    }
}
