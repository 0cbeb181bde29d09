package io.hvd.launch.archive;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Optional;

/**
 * A file of a fixed name that leads to a program's archive, for a script that knows no more than that name. It is empty if the
 * JVM has refused to make an archive.
 */
record ArchiveLink(Path file) {

    /** Makes the file lead to the program's archive; does nothing where nothing is known of the program. */
    void leadTo(ArchivedProgram program, ArchiveFolder folder) throws IOException {
        Optional<KnownArchive> known = folder.known(program);
        if (known.isEmpty()) {
            return;
        }
        Path fresh = file.resolveSibling(
                file.getFileName() + "-" + ProcessHandle.current().pid());
        Files.deleteIfExists(fresh);
        if (known.get().file().isPresent()) {
            Files.createSymbolicLink(fresh, known.get().file().get().getFileName());
        } else {
            Files.createFile(fresh);
        }
        Files.move(fresh, file, StandardCopyOption.ATOMIC_MOVE);
    }

    /** Whether the file tells what is known of the program now. */
    boolean leadsTo(ArchivedProgram program, ArchiveFolder folder) {
        Optional<KnownArchive> known = folder.known(program);
        try {
            return known.isPresent()
                    && (known.get().file().isPresent()
                            ? Files.isSymbolicLink(file)
                                    && Files.isSameFile(file, known.get().file().get())
                            : Files.size(file) == 0);
        } catch (IOException e) {
            return false;
        }
    }
}
