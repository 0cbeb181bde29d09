package io.hvd.testing;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** The modules of this build, as the pom.xml at the top lists them. Tests run in the folder of theirs. */
public final class Modules {
    private static final Pattern MODULE = Pattern.compile("<module>(.+)</module>");

    private Modules() {}

    /** The folders of all modules, such as {@code hvd-core} and {@code hvd-examples/benchmarks}, from the top. */
    public static List<String> names() {
        try {
            return MODULE.matcher(Files.readString(Path.of("..", "pom.xml")))
                    .results()
                    .map(found -> found.group(1))
                    .toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Java files of all modules below {@code src/main/java}, say, with their places from the folder of this one. */
    public static List<Path> sources(String root) {
        return names().stream()
                .flatMap(module -> in(Path.of("..", module, root)))
                .toList();
    }

    private static Stream<Path> in(Path root) {
        if (!Files.isDirectory(root)) {
            return Stream.of();
        }
        try (Stream<Path> files = Files.walk(root)) {
            return files.filter(file -> file.toString().endsWith(".java")).sorted().toList().stream();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
