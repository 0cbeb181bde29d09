package io.hvd.examples.image;

import io.hvd.file.WholeFile;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/** Writes a text for the user: to a file, which is always complete, or to a device such as /dev/stdout. */
public final class ResultFile {
    private ResultFile() {}

    public static void write(Path file, String text) throws IOException {
        if (isDevice(file)) {
            writeToDevice(file, text);
        } else {
            WholeFile.write(file, text.getBytes(StandardCharsets.UTF_8));
        }
    }

    /** @param head the header line for a file that does not exist yet */
    static void append(Path file, String head, String line) throws IOException {
        if (isDevice(file)) {
            writeToDevice(file, line);
        } else {
            write(file, (Files.exists(file) ? Files.readString(file) : head) + line);
        }
    }

    private static void writeToDevice(Path device, String text) throws IOException {
        try {
            Files.writeString(device, text, StandardOpenOption.APPEND);
        } catch (IOException e) {
            throw new IOException(device + ": could not be written: " + e.getMessage(), e);
        }
    }

    static boolean isDevice(Path file) {
        return Files.exists(file) && !Files.isRegularFile(file) && !Files.isDirectory(file);
    }
}
