package io.hvd.launch.jvm;

import io.hvd.launch.mpi.MpiInstall;
import io.hvd.launch.words.Argument;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * The Java of this machine that a command starts.
 *
 * @param program a real path
 * @param release its feature release, such as 17
 */
public record InstalledJava(Path program, int release) {

    private static final Pattern VERSION = Pattern.compile("JAVA_VERSION=\"(\\d{1,4})[.\\d]*.*\"");

    /** JDK 24 is the first that warns when a class loads a native library and nothing has enabled it to. */
    private static final int WARNS_OF_NATIVE_ACCESS = 24;

    private static final String NATIVE_ACCESS = "--enable-native-access=ALL-UNNAMED";

    /**
     * Empty if there is none, or if it does not say what it is.
     *
     * @param program the word of the command line
     * @param directory the folder in which the ranks start
     */
    public static Optional<InstalledJava> of(String program, Map<String, String> environment, Path directory) {
        Optional<Path> found = program.contains("/")
                ? Optional.of(directory.resolve(program))
                : MpiInstall.onPath(program, environment);
        try {
            return found.isEmpty() ? Optional.empty() : of(found.get().toRealPath());
        } catch (IOException | UncheckedIOException e) {
            return Optional.empty();
        }
    }

    private static Optional<InstalledJava> of(Path java) throws IOException {
        try (Stream<String> lines =
                Files.lines(java.resolve("../..").normalize().resolve("release"))) {
            return lines.map(VERSION::matcher)
                    .filter(Matcher::matches)
                    .map(line -> new InstalledJava(java, Integer.parseInt(line.group(1))))
                    .findFirst();
        }
    }

    /** The flag that keeps it quiet about the native libraries of MPI and LibTorch; empty if it needs none. */
    public static Optional<String> nativeAccess(int release) {
        return release >= WARNS_OF_NATIVE_ACCESS ? Optional.of(NATIVE_ACCESS) : Optional.empty();
    }

    /** That flag with its reason. */
    public Optional<Argument> nativeAccess() {
        return nativeAccess(release)
                .map(flag -> Argument.of("JDK " + release + " warns of native libraries otherwise", flag));
    }
}
