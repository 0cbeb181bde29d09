package io.hvd.cuda;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;

/**
 * Checks the libcuda.so.1 that the loader has given to JCuda. Its functions are bound at their first call, and a
 * missing function then ends the whole process. A file that only has the driver's name must therefore be recognised
 * before.
 */
final class DriverLibrary {
    private static final Path MAPPED_FILES = Path.of("/proc/self/maps");
    /** The name without a zero byte before it, because a linker may store a name as the end of a longer one. */
    private static final byte[] FIRST_FUNCTION = "cuInit\0".getBytes(StandardCharsets.US_ASCII);

    private DriverLibrary() {}

    /** Throws UnsatisfiedLinkError if the library that is loaded as libcuda.so is not a CUDA driver. */
    static void requireGenuine() {
        try {
            Optional<Path> loaded = loaded();
            if (loaded.isPresent() && !names(loaded.get(), FIRST_FUNCTION)) {
                throw new UnsatisfiedLinkError(
                        loaded.get() + " is not NVIDIA's driver: it has no function cuInit. Take its folder out of"
                                + " LD_LIBRARY_PATH, or install the driver");
            }
        } catch (IOException e) {
            return; // a file that cannot be read counts as a driver
        }
    }

    private static Optional<Path> loaded() throws IOException {
        return Files.readAllLines(MAPPED_FILES, StandardCharsets.ISO_8859_1).stream()
                .map(line -> line.substring(line.indexOf('/') + 1))
                .filter(file -> file.substring(file.lastIndexOf('/') + 1).startsWith("libcuda.so"))
                .map(file -> Path.of("/", file))
                .findFirst();
    }

    /** True if the file contains the bytes; in a driver of many megabytes, names are near the beginning. */
    static boolean names(Path file, byte[] wanted) throws IOException {
        try (FileChannel channel = FileChannel.open(file)) {
            ByteBuffer bytes = channel.map(FileChannel.MapMode.READ_ONLY, 0, channel.size());
            for (int at = 0; at <= bytes.limit() - wanted.length; at++) {
                if (bytes.get(at) == wanted[0] && standsAt(bytes, at, wanted)) {
                    return true;
                }
            }
            return false;
        }
    }

    private static boolean standsAt(ByteBuffer bytes, int at, byte[] wanted) {
        for (int i = 1; i < wanted.length; i++) {
            if (bytes.get(at + i) != wanted[i]) {
                return false;
            }
        }
        return true;
    }
}
