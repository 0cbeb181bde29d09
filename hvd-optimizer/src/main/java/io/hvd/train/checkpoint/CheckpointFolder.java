package io.hvd.train.checkpoint;

import io.hvd.train.safetensors.SetIndex;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.OptionalLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * The checkpoints of a series: {@code step-0000001200.safetensors} for that of step 1200, or the folder {@code step-0000001200} with
 * the files of all ranks. While another one of the same step takes the place of such a folder, it is {@code step-0000001200.replaced}, and still
 * a checkpoint. Other files in the folder are left alone.
 */
record CheckpointFolder(Path folder) {
    private static final String FILE = ".safetensors";
    private static final String REPLACED = ".replaced";
    private static final Pattern NAME =
            Pattern.compile("step-([0-9]{10,18})(" + Pattern.quote(FILE) + "|" + Pattern.quote(REPLACED) + ")?");

    Path file(long step) {
        return folder.resolve(name(step) + FILE);
    }

    /** The folder of the files of all ranks. */
    Path set(long step) {
        return folder.resolve(name(step));
    }

    /** Where that folder is while another one takes its place. */
    Path replaced(long step) {
        return folder.resolve(name(step) + REPLACED);
    }

    static String name(long step) {
        return String.format(Locale.ROOT, "step-%010d", step);
    }

    /** The file and the folders of a step, as far as they are there; what replaces comes before what is replaced. */
    List<Path> wholes(long step) {
        return Stream.concat(Stream.of(file(step)).filter(Files::exists), sets(step))
                .toList();
    }

    private Stream<Path> sets(long step) {
        return Stream.of(set(step), replaced(step)).filter(CheckpointFolder::isSet);
    }

    private static boolean isSet(Path path) {
        return Files.exists(path.resolve(SetIndex.NAME));
    }

    /** The steps of which there is a checkpoint, the last one first. */
    List<Long> steps() throws IOException {
        if (!Files.isDirectory(folder)) {
            return List.of();
        }
        try (Stream<Path> files = Files.list(folder)) {
            return files.map(CheckpointFolder::step)
                    .filter(OptionalLong::isPresent)
                    .map(OptionalLong::getAsLong)
                    .distinct()
                    .sorted(Comparator.reverseOrder())
                    .toList();
        }
    }

    static OptionalLong step(Path path) {
        Matcher matcher = NAME.matcher(path.getFileName().toString());
        return matcher.matches() && (FILE.equals(matcher.group(2)) || isSet(path))
                ? OptionalLong.of(Long.parseLong(matcher.group(1)))
                : OptionalLong.empty();
    }

    /** The step in the name of a checkpoint, which this rank need not see. */
    static long stepOf(String name) {
        Matcher matcher = NAME.matcher(name);
        if (!matcher.matches()) {
            throw new IllegalArgumentException(name);
        }
        return Long.parseLong(matcher.group(1));
    }

    /** Bytes of all checkpoints that are there. */
    long bytes() throws IOException {
        long sum = 0;
        for (long step : steps()) {
            for (Path path : wholes(step)) {
                try (Stream<Path> files = Files.walk(path)) {
                    for (Path file : files.filter(Files::isRegularFile).toList()) {
                        sum += Files.size(file);
                    }
                }
            }
        }
        return sum;
    }

    /** Makes room for another folder of the same step, if there is one: until that is there, this one is the checkpoint. */
    void setAside(long step) throws IOException {
        if (isSet(set(step))) {
            deleteReplaced(step);
            Files.move(set(step), replaced(step), StandardCopyOption.ATOMIC_MOVE);
        } else if (Files.exists(set(step))) {
            delete(set(step));
        }
    }

    /** Puts it back, if the other one cannot come. */
    void restore(long step) throws IOException {
        if (Files.exists(replaced(step)) && !Files.exists(set(step))) {
            Files.move(replaced(step), set(step), StandardCopyOption.ATOMIC_MOVE);
        }
    }

    /**
     * Deletes the folder of a step in favour of the one that it was to replace, which a run goes on from because it has refused this one.
     *
     * @return where the other one is now
     */
    Path takeBack(long step) throws IOException {
        if (Files.exists(set(step))) {
            delete(set(step));
        }
        restore(step);
        return set(step);
    }

    /** Deletes what another one has taken the place of, if there is something. */
    void deleteReplaced(long step) throws IOException {
        if (Files.exists(replaced(step)) && isSet(set(step))) {
            delete(replaced(step));
        }
    }

    /** Deletes what is older than the last so many checkpoints up to a step; later ones are of no run that goes on. */
    void keepLast(int count, long upTo) throws IOException {
        List<Long> old =
                steps().stream().filter(step -> step <= upTo).skip(count).toList();
        for (long step : old) {
            for (Path path : wholes(step)) {
                delete(path);
            }
        }
    }

    /** Deletes a file or a folder, which is no checkpoint any more as soon as the first of its files is gone. */
    static void delete(Path path) throws IOException {
        if (Files.isDirectory(path)) {
            Path aside = UnfinishedSet.aside(path);
            Files.move(path, aside, StandardCopyOption.ATOMIC_MOVE);
            deleteFiles(aside);
        } else {
            Files.deleteIfExists(path);
        }
    }

    /** Deletes a folder of files. */
    static void deleteFiles(Path path) throws IOException {
        try (Stream<Path> files = Files.list(path)) {
            for (Path file : files.toList()) {
                Files.deleteIfExists(file);
            }
        }
        Files.deleteIfExists(path);
    }
}
