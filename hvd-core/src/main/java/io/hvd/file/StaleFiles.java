package io.hvd.file;

import io.hvd.log.HvdLogger;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Optional;

/**
 * Temporary files that killed processes have left beside a file. One is deleted only if all of this holds:
 *
 * <ul>
 *   <li>its name says that its owner ran on this host, under the kernel that runs now;
 *   <li>the owner is not seen running: its number belongs to no process, or to one that has started at another time;
 *   <li>its lock is free, which it is not as long as the owner runs in a PID namespace that is not seen from here,
 *       such as another container's.
 * </ul>
 *
 * A file that another host has left on a shared file system may still be being written there. A file that this host has left before it was started anew looks the same from here. Such a file is named in a warning and left alone. As long as the other host's kernel runs, the next write from there deletes it.
 */
final class StaleFiles {
    private static final HvdLogger LOG = HvdLogger.of(StaleFiles.class);
    private static final String SUFFIX = ".tmp";

    private StaleFiles() {}

    /** The name of the temporary file of this owner. */
    static String name(Path target, Owner owner) {
        return prefix(target) + owner.word() + SUFFIX;
    }

    private static String prefix(Path target) {
        return "." + target.getFileName() + ".";
    }

    /** In a folder that cannot be listed they stay. */
    static void deleteBeside(Path target) {
        Owner mine = Owner.thisProcess();
        try (DirectoryStream<Path> files = Files.newDirectoryStream(
                target.getParent(), file -> owner(target, file).isPresent())) {
            for (Path file : files) {
                visit(file, owner(target, file).get(), mine);
            }
        } catch (IOException | DirectoryIteratorException e) {
            LOG.debug("what others have left beside {} stays: {}", target, e.toString());
        }
    }

    private static Optional<Owner> owner(Path target, Path file) {
        String prefix = prefix(target);
        String name = file.getFileName().toString();
        return name.startsWith(prefix) && name.endsWith(SUFFIX) && name.length() > prefix.length() + SUFFIX.length()
                ? Owner.of(name.substring(prefix.length(), name.length() - SUFFIX.length()))
                : Optional.empty();
    }

    private static void visit(Path file, Owner owner, Owner mine) {
        if (!owner.isBeside(mine)) {
            LOG.warn(
                    "{} is left alone: process {} of another host, or of this one before it was started anew, has not"
                            + " finished it. Delete it if that process is gone",
                    file,
                    owner.pid());
        } else if (!owner.isSeenRunning()) {
            deleteUnlessLocked(file);
        }
    }

    /** While this process holds the lock, nobody else takes the file for its own. */
    private static void deleteUnlessLocked(Path file) {
        // Opened for both: of a pipe that somebody puts there at this moment, that does not wait for a reader.
        try (FileChannel channel = FileChannel.open(
                        RegularFile.at(file, LinkOption.NOFOLLOW_LINKS),
                        StandardOpenOption.READ,
                        StandardOpenOption.WRITE,
                        LinkOption.NOFOLLOW_LINKS);
                FileLock lock = channel.tryLock()) {
            if (lock != null) {
                Files.delete(file);
            }
        } catch (IOException e) {
            LOG.debug("{} stays: {}", file, e.toString()); // it is gone, another user's, or cannot be locked
        }
    }
}
