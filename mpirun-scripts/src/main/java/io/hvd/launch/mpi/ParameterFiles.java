package io.hvd.launch.mpi;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The files in which an administrator or a user gives parameters of Open MPI values once and for all. The command line
 * outranks them, but a parameter on the line that excludes one in a file is an error for MPI.
 *
 * @see <a href="https://docs.open-mpi.org/en/main/mca.html">Open MPI's documentation, The Modular Component Architecture</a>
 */
public final class ParameterFiles {
    private static final Path SYSTEM = Path.of("/etc/openmpi");
    private static final Pattern LINE = Pattern.compile("\\s*([A-Za-z0-9_]+)\\s*=\\s*(\\S.*?)\\s*");

    private ParameterFiles() {}

    /** A value and the file that gives it. */
    public record Entry(String name, String value, Path file) {}

    /** The folder of an Open MPI's settings: below its prefix, or, as a part of the system, in /etc. */
    public static Path folder(Map<String, String> environment) {
        String home = environment.getOrDefault("HVD_OPENMPI_HOME", "");
        Optional<Path> prefix = home.isEmpty()
                ? MpiInstall.onPath("mpirun", environment)
                        .map(mpirun -> mpirun.toAbsolutePath().getParent().getParent())
                : Optional.of(Path.of(home));
        return prefix.filter(path -> !path.equals(Path.of("/usr")) && Files.isDirectory(path.resolve("etc")))
                .map(path -> path.resolve("etc"))
                .orElse(SYSTEM);
    }

    /** The first of some parameters that a file sets; the user's files outrank those of the installation. */
    public static Optional<Entry> first(Collection<String> names, Map<String, String> environment) {
        return files(environment).stream()
                .flatMap(file -> entries(file).stream())
                .filter(entry -> names.contains(entry.name()))
                .findFirst();
    }

    private static List<Path> files(Map<String, String> environment) {
        List<Path> files = new ArrayList<>();
        String home = environment.getOrDefault("HOME", "");
        if (!home.isEmpty()) {
            files.add(Path.of(home, ".openmpi", "mca-params.conf"));
            files.add(Path.of(home, ".prte", "mca-params.conf"));
        }
        Path folder = folder(environment);
        files.add(folder.resolve("openmpi-mca-params.conf"));
        files.add(folder.resolve("prte-mca-params.conf"));
        return files;
    }

    private static List<Entry> entries(Path file) {
        try {
            return Files.readAllLines(file).stream()
                    .map(LINE::matcher)
                    .filter(Matcher::matches)
                    .map(line -> new Entry(line.group(1), line.group(2), file))
                    .toList();
        } catch (IOException e) {
            return List.of(); // it is not there, or is no text
        }
    }
}
