package io.hvd.backend.cuda;

import io.hvd.file.WholeFile;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.zip.CRC32;

/**
 * Files of native libraries, unpacked once per user and safe to ask for from many processes at once.
 *
 * <p>A folder is named by the checksum of what it holds, and a file comes into being by a rename, so
 * whoever sees it sees all of it. Nothing is ever overwritten: another process may have it mapped. The
 * lock only spares the others the work.
 */
public final class LibraryCache {
    private final Path root;

    LibraryCache(Path root) {
        this.root = root;
    }

    public static LibraryCache ofThisUser() {
        return new LibraryCache(Path.of(System.getProperty("user.home"), ".cache", "hvd"));
    }

    /** A folder that holds these files, complete. Without a writable home it is this process's own. */
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
     * Does something while no other process of this user does it; where files cannot be locked, just does it.
     *
     * @param name of the lock
     */
    public void alone(String name, Task task) throws IOException {
        synchronized (LibraryCache.class) {
            try (FileChannel channel = lockFile(name)) {
                task.run();
            }
        }
    }

    /** Holds the lock until it is closed; null where there is none to be had. */
    private FileChannel lockFile(String name) {
        try {
            FileChannel channel = FileChannel.open(
                    Files.createDirectories(root).resolve(name + ".lock"),
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
            if (!Files.exists(target)) {
                WholeFile.write(target, file.getValue());
            }
        }
    }

    private static boolean isComplete(Path folder, SortedMap<String, byte[]> files) {
        return files.keySet().stream().allMatch(name -> Files.exists(folder.resolve(name)));
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
                    "native libraries could be unpacked neither at home nor for this process", e);
        }
    }

    private static String checksum(SortedMap<String, byte[]> files) {
        CRC32 crc = new CRC32();
        files.values().forEach(crc::update);
        return String.format("%08x", crc.getValue());
    }

    /** Work on files. */
    public interface Task {
        void run() throws IOException;
    }
}
