package io.hvd.transport.mpi;

import io.hvd.config.HvdConfig;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.transport.mpi.calls.Mpi;
import java.lang.reflect.InvocationTargetException;
import java.nio.file.Path;
import java.util.Optional;

/** The ways from Java to MPI. Each has classes that not every Java and not every build has, so they are loaded by their names. */
final class MpiBinding {
    private MpiBinding() {}

    /**
     * The way that the settings name, or else mpi.jar, or else foreign functions.
     *
     * @throws HvdException that says what is missing
     */
    static Mpi of(HvdConfig config) {
        Optional<String> library = config.mpi().mpiFile();
        if (library.isPresent()) {
            requireForeignFunctions("HVD_MPI_LIBRARY=" + library.get());
            return toLibrary(library.get());
        }
        Optional<String> found = noJar(config).isPresent() ? byForeignFunctions(config) : Optional.empty();
        if (found.isPresent()) {
            return toLibrary(found.get());
        }
        if (isStartedByMpich()) {
            requireForeignFunctions("MPICH, by whose launcher this process was started,");
        }
        return byJar(config);
    }

    /** Why MPI cannot be used here; empty if there is a way. */
    static Optional<String> missing(HvdConfig config) {
        if (config.mpi().mpiFile().isPresent()) {
            return Optional.empty();
        }
        return noJar(config).filter(why -> byForeignFunctions(config).isEmpty());
    }

    /** The library that foreign functions can call; empty if this Java or this build has none, or no MPI is found. */
    static Optional<String> byForeignFunctions(HvdConfig config) {
        return canCallLibraries()
                ? config.mpi().mpiFile().or(() -> MpiLibrary.find(config).map(Path::toString))
                : Optional.empty();
    }

    /** Why it does not go by mpi.jar. */
    private static Optional<String> noJar(HvdConfig config) {
        if (config.mpi().jar().isPresent()) {
            return Optional.empty(); // it is used, or refused for its reason
        }
        if (isStartedByMpich()) {
            return Optional.of("MPICH has no mpi.jar");
        }
        try {
            MpiProvider.jar(config);
            return MpiClassLoader.hasBindings() ? Optional.empty() : Optional.of("hvd was built without mpi.jar");
        } catch (HvdException missing) {
            return Optional.of("there is no Open MPI with its mpi.jar");
        }
    }

    private static boolean isStartedByMpich() {
        return MpiLibrary.ofLauncher().filter(MpiLibrary.Family.MPICH::equals).isPresent();
    }

    private static Mpi byJar(HvdConfig config) {
        OpenMpi mpi = OpenMpi.locate(config);
        Path jar = MpiJar.matching(mpi, config);
        if (!MpiClassLoader.hasBindings()) {
            throw new HvdException(
                    ErrorId.INIT_FAILED,
                    "hvd was built without mpi.jar, so it cannot use " + mpi.prefix()
                            + ": build it again without -Dhvd.withoutMpi, or set HVD_BACKEND=tcp");
        }
        return load(
                "io.hvd.transport.mpi.bindings.JarMpi",
                new MpiClassLoader(jar, mpi.jniLibrary()),
                "Open MPI " + mpi.version() + " (" + mpi.jniLibrary() + ") with " + jar);
    }

    private static boolean canCallLibraries() {
        return Runtime.version().feature() >= ForeignClassLoader.LEAST_JAVA && ForeignClassLoader.hasClasses();
    }

    private static void requireForeignFunctions(String what) {
        int java = Runtime.version().feature();
        if (java < ForeignClassLoader.LEAST_JAVA) {
            throw new HvdException(
                    ErrorId.INIT_FAILED,
                    what + " needs Java " + ForeignClassLoader.LEAST_JAVA + " or newer, found Java " + java
                            + "; HVD_BACKEND=tcp needs no MPI");
        }
        if (!ForeignClassLoader.hasClasses()) {
            throw new HvdException(
                    ErrorId.INIT_FAILED,
                    what + " needs classes that this hvd does not have, because it was built by a Java older than "
                            + ForeignClassLoader.LEAST_JAVA + ": build it by a newer one, or set HVD_BACKEND=tcp");
        }
    }

    /** By foreign functions. @param library the file of MPI's library, or a name that the system's loader finds */
    static Mpi toLibrary(String library) {
        return load("io.hvd.transport.mpi.foreign.ForeignMpi", new ForeignClassLoader(library), library);
    }

    private static Mpi load(String type, ClassLoader loader, String what) {
        try {
            return (Mpi) Class.forName(type, true, loader).getConstructor().newInstance();
        } catch (ReflectiveOperationException | LinkageError e) {
            Throwable cause = e;
            while (cause instanceof InvocationTargetException || cause instanceof ExceptionInInitializerError) {
                cause = cause.getCause();
            }
            if (cause instanceof HvdException known) {
                throw known;
            }
            if (cause instanceof IllegalCallerException) {
                throw new HvdException(
                        ErrorId.INIT_FAILED,
                        "Java does not let hvd call MPI: add --enable-native-access=ALL-UNNAMED to java's flags",
                        cause);
            }
            throw new HvdException(ErrorId.INIT_FAILED, what + " did not start: " + cause, cause);
        }
    }
}
