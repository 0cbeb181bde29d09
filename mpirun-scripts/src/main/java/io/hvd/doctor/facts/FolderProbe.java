package io.hvd.doctor.facts;

import io.hvd.doctor.facts.Facts.Folder;
import io.hvd.doctor.facts.Facts.Folders;
import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;

/** The folders that a job writes to, and their room. */
final class FolderProbe {

    private final Path root;
    private final Map<String, String> environment;

    FolderProbe(Path root, Map<String, String> environment) {
        this.root = root;
        this.environment = environment;
    }

    Folders folders() {
        String temporary = environment.getOrDefault("TMPDIR", "");
        return new Folders(
                folder(root.resolve("dev/shm")),
                folder(temporary.isEmpty() ? root.resolve("tmp") : Path.of(temporary)),
                folder(nearest(Path.of(System.getProperty("user.home"), ".javacpp", "cache"))));
    }

    /** The file system itself says how much room there is: in a changed root, the table of mounts may not have it. */
    static Folder folder(Path path) {
        File folder = path.toFile();
        return new Folder(path.toString(), folder.getTotalSpace(), folder.getUsableSpace(), Files.isWritable(path));
    }

    /** The folder itself, or the one in which it would be made. */
    private static Path nearest(Path path) {
        Path found = path.toAbsolutePath();
        while (!Files.isDirectory(found) && found.getParent() != null) {
            found = found.getParent();
        }
        return found;
    }
}
