package io.hvd.transport.mpi;

import io.hvd.config.HvdConfig;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.transport.mpi.calls.Mpi;
import java.lang.reflect.InvocationTargetException;
import java.nio.file.Path;

/** The ways from Java to MPI. Each has classes that not every Java and not every build has, so they are loaded by their names. */
final class MpiBinding {
    private MpiBinding() {}

    /** By the Java bindings of an Open MPI. */
    static Mpi byJar(HvdConfig config) {
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

    /** By foreign functions. @param library the file of MPI's library, or a name that the system's loader finds */
    static Mpi toLibrary(String library) {
        int java = Runtime.version().feature();
        if (java < ForeignClassLoader.LEAST_JAVA) {
            throw new HvdException(
                    ErrorId.INIT_FAILED,
                    "HVD_MPI_LIBRARY=" + library + " needs Java " + ForeignClassLoader.LEAST_JAVA
                            + " or newer, found Java " + java);
        }
        if (!ForeignClassLoader.hasClasses()) {
            throw new HvdException(
                    ErrorId.INIT_FAILED,
                    "HVD_MPI_LIBRARY=" + library
                            + " needs classes that this hvd does not have, because it was built by a"
                            + " Java older than " + ForeignClassLoader.LEAST_JAVA + ": build it by a newer one");
        }
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
            throw new HvdException(ErrorId.INIT_FAILED, what + " did not start: " + cause, cause);
        }
    }
}
