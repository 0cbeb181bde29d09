package io.hvd.launch.setup;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;

/** A private folder for temporary files; it goes when this is closed, or when this process ends before. */
final class Scratch implements AutoCloseable {

    private final Path path;

    Scratch() throws IOException {
        path = Files.createTempDirectory("hvd-setup-");
        Runtime.getRuntime().addShutdownHook(new Thread(this::close, "hvd-setup-end"));
    }

    Path folder(String name) throws IOException {
        return Files.createDirectories(path.resolve(name));
    }

    Path path() {
        return path;
    }

    @Override
    public synchronized void close() {
        if (!Files.exists(path)) {
            return;
        }
        try (Stream<Path> files = Files.walk(path)) {
            List<Path> deepestFirst = files.sorted(Comparator.reverseOrder()).toList();
            for (Path file : deepestFirst) {
                Files.deleteIfExists(file);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
