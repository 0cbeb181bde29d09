package io.hvd.file;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFileAttributeView;
import java.nio.file.attribute.PosixFilePermission;
import java.util.Set;

/**
 * A temporary file that this process is writing. Its name says whose it is, and as long as it is open this process
 * holds a lock on it, which the kernel takes back however the process ends.
 */
final class TemporaryFile implements AutoCloseable {
    /** Somebody who takes it for abandoned must meet it each time in the moment before it is locked. */
    private static final int MOST_TRIES = 10;

    private final Path path;
    private final FileChannel channel;
    private boolean renamed;

    private TemporaryFile(Path path, FileChannel channel) {
        this.path = path;
        this.channel = channel;
    }

    /** Makes an empty one beside the file whose place it is to take. */
    static TemporaryFile beside(Path target, FileAttribute<?>... attributes) throws IOException {
        Path path = target.resolveSibling(StaleFiles.name(target, Owner.thisProcess()));
        if (Files.isSymbolicLink(path)) {
            Files.delete(path); // it could lead elsewhere
        }
        for (int i = 0; i < MOST_TRIES; i++) {
            FileChannel channel =
                    FileChannel.open(path, Set.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE), attributes);
            if (isMine(channel, path)) {
                return new TemporaryFile(path, channel);
            }
            Files.deleteIfExists(path);
            channel.close();
        }
        throw new IOException("another process deletes " + path + " again and again");
    }

    /** False if another process has taken it for abandoned in the moment before it was locked. */
    private static boolean isMine(FileChannel channel, Path path) {
        try {
            return channel.tryLock() != null && Files.exists(path, LinkOption.NOFOLLOW_LINKS);
        } catch (IOException e) {
            return true; // a file system without locks, where nobody else gets one either
        }
    }

    FileChannel channel() {
        return channel;
    }

    /** Forces it to the disk, gives it the other file's place and forces that to the disk too: the name is the folder's. */
    void replace(Path target) throws IOException {
        channel.force(true);
        if (Files.exists(target)) {
            permitAs(target);
        }
        Files.move(path, target, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
        renamed = true;
        WholeFile.forceNames(target.getParent());
    }

    /** Some file systems have the same permissions for all files, and refuse to set any. Windows has none. */
    private void permitAs(Path target) throws IOException {
        var unfinished = Files.getFileAttributeView(path, PosixFileAttributeView.class);
        if (unfinished == null) {
            return;
        }
        Set<PosixFilePermission> wanted = Files.getPosixFilePermissions(target);
        if (!wanted.equals(unfinished.readAttributes().permissions())) {
            unfinished.setPermissions(wanted);
        }
    }

    @Override
    public void close() throws IOException {
        try (channel) {
            if (!renamed) {
                Files.deleteIfExists(path);
            }
        }
    }
}
