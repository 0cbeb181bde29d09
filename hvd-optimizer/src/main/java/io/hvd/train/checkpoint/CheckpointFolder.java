package io.hvd.train.checkpoint;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.OptionalLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** The files of a series, {@code step-0000001200.safetensors} for that of step 1200. Other files in the folder are left alone. */
record CheckpointFolder(Path folder) {
    private static final Pattern NAME = Pattern.compile("step-([0-9]{10,18})\\.safetensors");

    Path file(long step) {
        return folder.resolve(String.format(Locale.ROOT, "step-%010d.safetensors", step));
    }

    /** The steps of which there is a file, the last one first. */
    List<Long> steps() throws IOException {
        if (!Files.isDirectory(folder)) {
            return List.of();
        }
        try (Stream<Path> files = Files.list(folder)) {
            return files.map(file -> step(file.getFileName().toString()))
                    .filter(OptionalLong::isPresent)
                    .map(OptionalLong::getAsLong)
                    .sorted(Comparator.reverseOrder())
                    .toList();
        }
    }

    private static OptionalLong step(String name) {
        Matcher matcher = NAME.matcher(name);
        return matcher.matches() ? OptionalLong.of(Long.parseLong(matcher.group(1))) : OptionalLong.empty();
    }

    /** Deletes what is older than the last so many files up to a step; later ones are of no run that goes on. */
    void keepLast(int count, long upTo) throws IOException {
        List<Long> old =
                steps().stream().filter(step -> step <= upTo).skip(count).toList();
        for (long step : old) {
            Files.deleteIfExists(file(step));
        }
    }
}
