package io.hvd.transport.mpi;

import io.hvd.config.HvdConfig;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/**
 * The library of the MPI that this process belongs to, found by its launcher. Two MPIs may lie in one folder, and a process
 * that loads the library of another one than its launcher's believes that it is alone.
 */
final class MpiLibrary {
    private MpiLibrary() {}

    /** MPIs with common launchers and file names. */
    enum Family {
        OPEN_MPI("Open MPI", List.of("libmpi.so.40", "libmpi.so")),
        /** The other names are those of MPICH's relatives, as Intel MPI's. */
        MPICH("MPICH", List.of("libmpich.so.12", "libmpi.so.12", "libmpich.so", "libmpi.so"));

        private final String words;
        private final List<String> names;

        Family(String words, List<String> names) {
            this.words = words;
            this.names = names;
        }

        /** The family of a launcher, by the name of its file once all links are followed. */
        static Family of(Path launcher) {
            String name = launcher.getFileName().toString().toLowerCase(Locale.ROOT);
            return name.contains("hydra") || name.contains("mpich") ? MPICH : OPEN_MPI;
        }

        private Optional<Path> in(Path prefix) {
            return names.stream()
                    .flatMap(name -> OpenMpi.find(prefix, name).stream())
                    .findFirst();
        }

        @Override
        public String toString() {
            return words;
        }
    }

    /** The family of the launcher that has started this process; empty without one, or if it is not one of MPI's. */
    static Optional<Family> ofLauncher() {
        return OpenMpi.launcherThatStartedUs().map(Family::of);
    }

    /** The library of the MPI that the settings name, that has started this process, or whose mpirun is on PATH. */
    static Optional<Path> find(HvdConfig config) {
        Optional<Path> launcher = config.mpi().home().isPresent() ? Optional.empty() : OpenMpi.launcherThatStartedUs();
        return find(config.mpi().home(), launcher.or(OpenMpi::mpirunOnPath));
    }

    static Optional<Path> find(Optional<Path> home, Optional<Path> launcher) {
        return home.isPresent()
                ? Family.OPEN_MPI.in(home.get())
                : launcher.flatMap(program -> Family.of(program).in(OpenMpi.prefixOf(program)));
    }
}
