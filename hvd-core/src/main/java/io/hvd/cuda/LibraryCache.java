package io.hvd.cuda;

import io.hvd.file.RegularFile;
import io.hvd.file.WholeFile;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Locale;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.zip.CRC32;

/**
 * Files of native libraries, which are unpacked once per user; many processes may ask for them at once.
 *
 * <p>The name of a folder is the checksum of its content. A file appears by a rename, so it is complete when other
 * processes see it. Files are never overwritten, because another process may have them mapped. The
 * lock only saves other processes the work.
 */
public final class LibraryCache {
    private final Path root;

    LibraryCache(Path root) {
        this.root = root;
    }

    public static LibraryCache ofThisUser() {
        return new LibraryCache(Path.of(System.getProperty("user.home"), ".cache", "hvd"));
    }

    /** A folder that contains these files; if the home is not writable, it belongs to this process alone. */
    Path folderWith(String label, Map<String, byte[]> files) {
        SortedMap<String, byte[]> sorted = new TreeMap<>(files);
        String name = label + "-" + checksum(sorted);
        Path folder = root.resolve(name);
        try {
            if (!isComplete(folder, sorted)) {
                alone(name, () -> fill(Files.createDirectories(folder), sorted));
            }
            return folder;
        } catch (IOException e) {
            return privateFolder(label, sorted, e);
        }
    }

    /**
     * Runs a task while no other process of this user runs it; without a lock if files cannot be locked.
     *
     * @param name the name of the lock
     */
    public void alone(String name, Task task) throws IOException {
        synchronized (LibraryCache.class) {
            try (FileChannel channel = lockFile(name)) {
                task.run();
            }
        }
    }

    /** A channel that holds the lock until it is closed; null if files cannot be locked. */
    private FileChannel lockFile(String name) {
        try {
            FileChannel channel = FileChannel.open(
                    RegularFile.at(Files.createDirectories(root).resolve(name + ".lock")),
                    StandardOpenOption.CREATE,
                    StandardOpenOption.WRITE);
            channel.lock();
            return channel;
        } catch (IOException e) {
            return null;
        }
    }

    private static void fill(Path folder, SortedMap<String, byte[]> files) throws IOException {
        for (Map.Entry<String, byte[]> file : files.entrySet()) {
            Path target = folder.resolve(file.getKey());
            if (!RegularFile.isAt(target)) {
                WholeFile.write(target, file.getValue());
            }
        }
    }

    private static boolean isComplete(Path folder, SortedMap<String, byte[]> files) {
        return files.keySet().stream().allMatch(name -> RegularFile.isAt(folder.resolve(name)));
    }

    private static Path privateFolder(String label, SortedMap<String, byte[]> files, IOException cause) {
        try {
            Path folder = Files.createTempDirectory("hvd-" + label + "-");
            fill(folder, files);
            folder.toFile().deleteOnExit();
            files.keySet().forEach(name -> folder.resolve(name).toFile().deleteOnExit());
            return folder;
        } catch (IOException e) {
            e.addSuppressed(cause);
            throw new UncheckedIOException(
                    "native libraries could be unpacked neither in the home folder nor in the folder for temporary files",
                    e);
        }
    }

    private static String checksum(SortedMap<String, byte[]> files) {
        CRC32 crc = new CRC32();
        files.values().forEach(crc::update);
        return String.format(Locale.ROOT, "%08x", crc.getValue());
    }

    /** Work on files. */
    public interface Task {
        void run() throws IOException;
    }
}
