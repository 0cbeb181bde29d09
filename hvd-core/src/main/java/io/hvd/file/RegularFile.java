package io.hvd.file;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.FileSystemException;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermissions;
import java.nio.file.attribute.UserPrincipal;
import java.util.Arrays;
import java.util.Optional;

/**
 * Looks at a file before it is opened, and at its first bytes where it turns out not to be what was expected.
 *
 * <p>Opening a named pipe waits for somebody at its other end, perhaps for ever. hvd opens whatever it finds by listing a folder
 * or under a name that others can predict, such as a checkpoint, a note in a cache or a temporary file, only through {@link #at}. A
 * file whose name the user has given for the data of a program may well be a pipe, as in {@code --data <(zcat numbers.gz)}, and
 * is opened as it is.
 */
public final class RegularFile {
    private static final int TYPE_BITS = 0xf000;
    private static final int FIRST_BYTES = 512;

    private RegularFile() {}

    /**
     * Gives the path back if there is a regular file, directly or behind a symbolic link, or nothing at all, so that opening it
     * does not wait.
     *
     * @throws FileSystemException that says what it is if it is a folder, a named pipe, a socket or a device
     */
    public static Path at(Path file, LinkOption... options) throws IOException {
        String kind = kind(file, options);
        if (!kind.isEmpty()) {
            throw new FileSystemException(file.toString(), null, "is " + kind + ", expected a regular file");
        }
        return file;
    }

    /** Whether a regular file is there, which can be opened without waiting. */
    public static boolean isAt(Path file, LinkOption... options) {
        return Files.isRegularFile(file, options);
    }

    /** The attributes of a new file that only this user may read; none on Windows, where it is as private as its folder. */
    public static FileAttribute<?>[] onlyMine() {
        return FileSystems.getDefault().supportedFileAttributeViews().contains("posix")
                ? new FileAttribute<?>[] {
                    PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------"))
                }
                : new FileAttribute<?>[0];
    }

    /** Whether the file has the owner of a new file in its folder, which this process makes to find out. */
    public static boolean isMine(Path file) throws IOException {
        UserPrincipal owner = Files.getOwner(file);
        Path mine = Files.createTempFile(file.toAbsolutePath().getParent(), "hvd", "", onlyMine());
        try {
            return owner.equals(Files.getOwner(mine));
        } finally {
            Files.delete(mine);
        }
    }

    /**
     * The kind of file that stands there instead of a regular one; empty if it is regular, or not there. It looks once, because
     * another process may make the file, or delete it, between two looks.
     */
    private static String kind(Path file, LinkOption... options) throws IOException {
        int mode;
        try {
            mode = (int) Files.getAttribute(file, "unix:mode", options);
        } catch (NoSuchFileException e) {
            return "";
        } catch (UnsupportedOperationException | IllegalArgumentException e) {
            return kindElsewhere(file, options);
        }
        return switch (mode & TYPE_BITS) {
            case 0x8000 -> "";
            case 0x1000 -> "a named pipe";
            case 0x2000, 0x6000 -> "a device";
            case 0x4000 -> "a folder";
            case 0xa000 -> "a symbolic link";
            case 0xc000 -> "a socket";
            default -> "something else";
        };
    }

    /** On a file system that is not Unix's. */
    private static String kindElsewhere(Path file, LinkOption... options) throws IOException {
        try {
            BasicFileAttributes found = Files.readAttributes(file, BasicFileAttributes.class, options);
            return found.isRegularFile() ? "" : found.isDirectory() ? "a folder" : "something else";
        } catch (NoSuchFileException e) {
            return "";
        }
    }

    /**
     * Recognises a regular file by its first bytes, and says what to do about it: "is a pointer of Git LFS, ...". Empty for an unknown file, and for one that cannot be read. It is for messages, once a reader has refused the file.
     */
    public static Optional<String> recognise(Path file) {
        if (!Files.isRegularFile(file)) {
            return Optional.empty();
        }
        try (FileChannel channel = FileChannel.open(file)) {
            return recognise(channel);
        } catch (IOException e) {
            return Optional.empty(); // the reader's own words are all there is
        }
    }

    /** Recognises a file that is open for reading; its position does not change. */
    public static Optional<String> recognise(FileChannel channel) throws IOException {
        ByteBuffer first = ByteBuffer.allocate(FIRST_BYTES);
        while (first.hasRemaining() && channel.read(first, first.position()) > 0) {
            // the rest of them
        }
        return ForeignFormat.of(first.flip());
    }

    /**
     * The end of a reader's message: "; it is ..." if the file is recognised, and nothing otherwise.
     *
     * @param taken words for the formats that this reader takes itself, such as gzip
     */
    public static String inWords(Path file, String... taken) {
        return recognise(file)
                .filter(what -> Arrays.stream(taken).noneMatch(what::contains))
                .map(what -> "; it " + what)
                .orElse("");
    }
}
