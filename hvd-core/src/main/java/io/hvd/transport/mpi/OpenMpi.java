package io.hvd.transport.mpi;

import io.hvd.config.HvdConfig;
import io.hvd.config.HvdProgram;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * The Open MPI installation that this process belongs to, found without loading any of its libraries.
 *
 * @param version such as {@code 4.1.4}
 * @param jniLibrary the native library of its Java bindings
 * @param prefix the folder in which it is installed
 */
public record OpenMpi(String version, Path jniLibrary, Path prefix) {
    private static final Predicate<String> MULTIARCH = name -> name.contains("-linux-gnu");
    private static final Set<String> LAUNCHERS = Set.of(
            "mpirun",
            "mpiexec",
            "orterun",
            "orted",
            "prterun",
            "prted",
            "mpirun.openmpi",
            "mpiexec.hydra",
            "hydra_pmi_proxy");

    /**
     * The first installation with Java bindings: the one in the settings, the one that started this process, the one on
     * PATH.
     */
    public static OpenMpi locate(HvdConfig config) {
        Set<Path> prefixes = new LinkedHashSet<>();
        config.mpi().home().ifPresentOrElse(prefixes::add, () -> {
            launcherThatStartedUs().map(OpenMpi::prefixOf).ifPresent(prefixes::add);
            mpirunOnPath().map(OpenMpi::prefixOf).ifPresent(prefixes::add);
        });
        for (Path prefix : prefixes) {
            Optional<Path> library = find(prefix, "libmpi_java.so");
            if (library.isPresent()) {
                return new OpenMpi(versionOf(prefix, library.get()), library.get(), prefix);
            }
        }
        throw new HvdException(
                ErrorId.NO_OPEN_MPI,
                prefixes.isEmpty()
                        ? "Open MPI was not found: there is no mpirun on PATH. Run " + HvdProgram.SETUP.eitherWay()
                                + ", or set HVD_OPENMPI_HOME to the prefix of your Open MPI"
                        : "the Open MPI in " + prefixes + " has no libmpi_java.so: it was built without"
                                + " --enable-mpi-java. Point HVD_OPENMPI_HOME to one that has it");
    }

    /** The mpi.jar that came with the installation; its manifest may lack the version. */
    public Optional<Path> ownJar() {
        return find(prefix, "mpi.jar");
    }

    /** The place in a local Maven repository where hvd looks for this installation's mpi.jar. */
    public Path jarIn(Path repository) {
        return MpiJar.inRepository(repository, version);
    }

    private static String versionOf(Path prefix, Path jniLibrary) {
        Path real = realPath(jniLibrary);
        return find(prefix, "libmpi.so")
                .or(() -> findIn(real.getParent(), "libmpi.so"))
                .flatMap(LibraryVersion::read)
                .orElseThrow(() -> new HvdException(
                        ErrorId.NO_OPEN_MPI,
                        "the version of the Open MPI in " + prefix + " could not be read from its libmpi.so"));
    }

    /** Looks where distributions and plain installations put libraries. */
    static Optional<Path> find(Path prefix, String name) {
        List<Path> folders = new ArrayList<>(List.of(prefix.resolve("lib"), prefix.resolve("lib64")));
        list(prefix.resolve("lib"), MULTIARCH).forEach(folder -> {
            folders.add(folder.resolve("openmpi/lib"));
            folders.add(folder);
        });
        return folders.stream().flatMap(folder -> findIn(folder, name).stream()).findFirst();
    }

    /** A library under its plain name or, as in distributions without development files, with a number after it. */
    private static Optional<Path> findIn(Path folder, String name) {
        Predicate<String> numbered =
                Pattern.compile(Pattern.quote(name) + "(\\.\\d+)*").asMatchPredicate();
        return list(folder, file -> file.startsWith(name) && numbered.test(file))
                .min((a, b) -> a.toString().length() - b.toString().length());
    }

    /**
     * The files whose names are wanted. Only names are read: a folder of libraries has thousands of files, and each
     * rank searches it at the start.
     */
    private static Stream<Path> list(Path folder, Predicate<String> wanted) {
        String[] names = folder.toFile().list();
        return Stream.of(names == null ? new String[0] : names)
                .filter(wanted)
                .sorted()
                .map(folder::resolve);
    }

    /** The launcher of some MPI that has started this process, or the script around it; the nearest one. */
    static Optional<Path> launcherThatStartedUs() {
        for (Optional<ProcessHandle> parent = ProcessHandle.current().parent();
                parent.isPresent();
                parent = parent.get().parent()) {
            Optional<Path> launcher = parent.get()
                    .info()
                    .command()
                    .map(Path::of)
                    .filter(program -> LAUNCHERS.contains(program.getFileName().toString()));
            if (launcher.isPresent()) {
                return launcher;
            }
        }
        return Optional.empty();
    }

    static Optional<Path> mpirunOnPath() {
        String path = Optional.ofNullable(System.getenv("PATH")).orElse("");
        return Stream.of(path.split(":"))
                .filter(folder -> !folder.isEmpty())
                .map(folder -> Path.of(folder, "mpirun"))
                .filter(Files::isExecutable)
                .map(OpenMpi::realPath)
                .findFirst();
    }

    static Path prefixOf(Path program) {
        return program.getParent().getParent();
    }

    private static Path realPath(Path path) {
        try {
            return path.toRealPath();
        } catch (IOException e) {
            return path.toAbsolutePath();
        }
    }
}
