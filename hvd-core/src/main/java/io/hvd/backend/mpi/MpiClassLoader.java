package io.hvd.backend.mpi;

import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;

/**
 * Holds mpi.jar and those of our classes that are linked against it.
 *
 * <p>Keeping them apart makes {@code java -jar} work without flags: the JNI library is found here by
 * its real file name, so neither the JVM's path of native libraries nor a development package's link is
 * needed, and one build serves whichever Open MPI the machine has.
 */
final class MpiClassLoader extends URLClassLoader {
    private static final String BINDINGS = "io.hvd.backend.mpi.bindings.";

    static {
        registerAsParallelCapable();
    }

    private final Path jniLibrary;

    MpiClassLoader(Path mpiJar, Path jniLibrary) {
        super(
                "mpi",
                new URL[] {
                    url(mpiJar),
                    MpiClassLoader.class.getProtectionDomain().getCodeSource().getLocation()
                },
                MpiClassLoader.class.getClassLoader());
        this.jniLibrary = jniLibrary;
        openOwnModule();
    }

    /** What is loaded here is in no named module, so on the module path hvd's must show it the packages that it is linked with. */
    private void openOwnModule() {
        Module own = MpiClassLoader.class.getModule();
        own.getPackages().forEach(used -> own.addExports(used, getUnnamedModule()));
    }

    /** Child first for what must be linked against this very mpi.jar. */
    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
        if (!name.startsWith("mpi.") && !name.startsWith(BINDINGS)) {
            return super.loadClass(name, resolve);
        }
        synchronized (getClassLoadingLock(name)) {
            Class<?> loaded = findLoadedClass(name);
            return loaded != null ? loaded : findClass(name);
        }
    }

    @Override
    protected String findLibrary(String name) {
        return name.equals("mpi_java") ? jniLibrary.toAbsolutePath().toString() : null;
    }

    private static URL url(Path file) {
        try {
            return file.toUri().toURL();
        } catch (MalformedURLException e) {
            throw new IllegalArgumentException(file + " has no URL", e);
        }
    }
}
