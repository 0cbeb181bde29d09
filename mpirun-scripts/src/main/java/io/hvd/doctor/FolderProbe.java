package io.hvd.doctor;

import io.hvd.doctor.Facts.Folder;
import io.hvd.doctor.Facts.Folders;
import java.io.IOException;
import java.nio.file.FileStore;
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

    static Folder folder(Path path) {
        try {
            FileStore store = Files.getFileStore(path);
            return new Folder(path.toString(), store.getTotalSpace(), store.getUsableSpace(), Files.isWritable(path));
        } catch (IOException e) {
            return new Folder(path.toString(), 0, 0, false);
        }
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
