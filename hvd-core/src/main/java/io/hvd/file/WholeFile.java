package io.hvd.file;

import io.hvd.log.HvdLogger;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.FileAttribute;

/**
 * Writes files that are either there as a whole or as they were before, whenever the process is killed or the disk
 * is full: a temporary file beside the file is written, forced to the disk and renamed.
 *
 * <p>A process that is killed meanwhile leaves its temporary file behind, {@code .NAME.OWNER.tmp}. The next write of
 * the same file deletes those whose owners are known to be gone, see {@link StaleFiles}.
 */
public final class WholeFile {
    private static final HvdLogger LOG = HvdLogger.of(WholeFile.class);

    private WholeFile() {}

    /** Fills the temporary file. */
    @FunctionalInterface
    public interface Content {
        /** @param channel stands at the beginning of an empty file; it may be written at any place, but not closed */
        void writeTo(FileChannel channel) throws IOException;
    }

    /**
     * Makes the file or replaces it, through a link where there is one. A file that is replaced leaves its permissions
     * to the new one. One thread at a time may write a file.
     *
     * @param attributes the temporary file's attributes, as for {@link Files#createFile}
     * @throws FileSystemException that names the file, if it could not be written; then it is as it was before
     */
    public static void write(Path file, Content content, FileAttribute<?>... attributes) throws IOException {
        try {
            Path target = target(file);
            StaleFiles.deleteBeside(target);
            try (TemporaryFile unfinished = TemporaryFile.beside(target, attributes)) {
                content.writeTo(unfinished.channel());
                unfinished.replace(target);
            }
        } catch (IOException e) {
            throw named(file, "could not be written and is as it was before", e);
        }
    }

    /** Writes bytes that are there already, in the same way. */
    public static void write(Path file, byte[] bytes, FileAttribute<?>... attributes) throws IOException {
        write(file, channel -> writeFully(channel, ByteBuffer.wrap(bytes)), attributes);
    }

    /**
     * Finds out by trying whether the file could be written; leaves nothing behind.
     *
     * @throws FileSystemException that names the file, if it could not
     */
    public static void requireWritable(Path file) throws IOException {
        try {
            TemporaryFile.beside(target(file)).close();
        } catch (IOException e) {
            throw named(file, "cannot be written", e);
        }
    }

    /**
     * Forces the names of a folder's files to the disk: what was renamed is there after a loss of power only then. Some file systems
     * cannot, and do without.
     */
    public static void forceNames(Path folder) {
        try (FileChannel names = FileChannel.open(folder)) {
            names.force(true);
        } catch (IOException e) {
            LOG.debug("the names in {} are on the disk when the system puts them there: {}", folder, e.toString());
        }
    }

    /** This process, as it stands in the names of what it has not finished. */
    public static String owner() {
        return Owner.thisProcess().word();
    }

    /** Whether such a word is another process's that has run on this host, and is not seen running. */
    public static boolean isGone(String owner) {
        return Owner.of(owner)
                .filter(one -> one.isBeside(Owner.thisProcess()) && !one.isSeenRunning())
                .isPresent();
    }

    /** Writes all that the buffer has, where the channel stands. */
    public static void writeFully(FileChannel channel, ByteBuffer bytes) throws IOException {
        while (bytes.hasRemaining()) {
            channel.write(bytes);
        }
    }

    private static Path target(Path file) throws IOException {
        try {
            return RegularFile.at(file).toRealPath();
        } catch (NoSuchFileException e) {
            return file.toAbsolutePath();
        }
    }

    /** The system's words for a full disk, for one, do not name the file. */
    private static FileSystemException named(Path file, String what, IOException e) {
        var named = new FileSystemException(file.toString(), null, what + ": " + why(e));
        named.initCause(e);
        return named;
    }

    private static String why(IOException e) {
        if (e instanceof FileSystemException inWords && inWords.getReason() != null) {
            return inWords.getReason();
        }
        return e.getClass() == IOException.class
                ? e.getMessage()
                : e.getClass().getSimpleName() + ": " + e.getMessage();
    }
}
