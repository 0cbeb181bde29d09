package io.hvd.launch.archive;

import io.hvd.file.FileFact;
import io.hvd.file.RegularFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;

/**
 * The archive of a program as a record in the folder describes it: by lines that name the form, the archive, the subcommands
 * whose classes it has, and facts of the files that it was made of.
 *
 * @param file the archive; empty if there is none, because none could be made of these files
 * @param subcommands those whose classes it has
 */
record KnownArchive(Optional<Path> file, Set<String> subcommands) {

    private static final String FORM = "hvd class-data archive 2";
    private static final int MOST_SUBCOMMANDS = 16;
    private static final int FIRST_FACT = 3;

    /** Whether a start of this subcommand has nothing to add; the number of subcommands is limited. */
    boolean has(String subcommand) {
        return subcommands.contains(subcommand) || subcommands.size() >= MOST_SUBCOMMANDS;
    }

    /** Empty if the lines are no such record, or if a file has changed since. */
    static Optional<KnownArchive> read(Path folder, List<String> lines) {
        if (lines.size() < FIRST_FACT || !lines.get(0).equals(FORM)) {
            return Optional.empty();
        }
        boolean fits = lines.stream().skip(FIRST_FACT).allMatch(FileFact::holds);
        Set<String> subcommands = new TreeSet<>(List.of(lines.get(2).split(" ", -1)));
        String name = lines.get(1);
        if (name.isEmpty()) {
            return fits ? Optional.of(new KnownArchive(Optional.empty(), subcommands)) : Optional.empty();
        }
        Path file = folder.resolve(name);
        boolean inside = file.normalize().getParent().equals(folder);
        return fits && inside && RegularFile.isAt(file) && Files.isReadable(file)
                ? Optional.of(new KnownArchive(Optional.of(file), subcommands))
                : Optional.empty();
    }

    /** @param facts of the program's files, as they were before the archive was made */
    List<String> lines(List<String> facts) {
        List<String> lines = new ArrayList<>(List.of(
                FORM, file.map(archive -> archive.getFileName().toString()).orElse(""), String.join(" ", subcommands)));
        file.map(FileFact::of).ifPresent(lines::add);
        lines.addAll(facts);
        return lines;
    }
}
