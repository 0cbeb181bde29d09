package io.hvd.backend.mpi;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Reads Open MPI's version out of the file of libmpi, so that a jar of another version is never loaded. */
final class LibraryVersion {
    /** The release as libmpi contains it, a string of its own such as {@code v4.1.4} or {@code v5.0.7}. */
    private static final Pattern RELEASE = Pattern.compile("\0v(\\d+\\.\\d+\\.\\d+(?:(?:rc|a|b)\\d+)?)\0");

    private static final String START = "\0v";

    private LibraryVersion() {}

    /**
     * Searches the library for the fixed start only, and tries the pattern only there: the file has megabytes, and each rank
     * does this before it can start MPI.
     */
    private static Optional<String> find(String library) {
        for (int at = library.indexOf(START); at >= 0; at = library.indexOf(START, at + 1)) {
            Matcher release = RELEASE.matcher(library).region(at, library.length());
            if (release.lookingAt()) {
                return Optional.of(release.group(1));
            }
        }
        return Optional.empty();
    }

    static Optional<String> read(Path library) {
        try (FileChannel file = FileChannel.open(library)) {
            ByteBuffer bytes = ByteBuffer.allocate(Math.toIntExact(file.size()));
            while (bytes.hasRemaining() && file.read(bytes) >= 0) {
                // The loop reads until the buffer is full or the file ends.
            }
            return find(new String(bytes.array(), StandardCharsets.ISO_8859_1));
        } catch (IOException e) {
            return Optional.empty();
        }
    }
}
