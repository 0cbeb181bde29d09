package io.hvd.transport.mpi;

import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;

/**
 * Loads mpi.jar and those of hvd's classes that are linked against it.
 *
 * <p>With a class loader of their own, {@code java -jar} works without flags: this class finds the JNI library by its
 * real file name, so neither the JVM's path of native libraries nor the link of a development package is needed, and
 * one build works with any Open MPI that the machine has.
 */
final class MpiClassLoader extends URLClassLoader {
    private static final String BINDINGS = "io.hvd.transport.mpi.bindings.";

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

    /** Whether hvd has the classes that are loaded here: a build without mpi.jar leaves them out. */
    static boolean hasBindings() {
        return MpiClassLoader.class.getResource("bindings/JarMpi.class") != null;
    }

    /**
     * Opens hvd's packages to the classes loaded here, which are in no named module and need this on the module path.
     */
    private void openOwnModule() {
        Module own = MpiClassLoader.class.getModule();
        own.getPackages().forEach(used -> own.addExports(used, getUnnamedModule()));
    }

    /** Loads the classes that must be linked against this mpi.jar itself, before the parent is asked. */
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
