package io.hvd.transport.mpi;

import java.io.IOException;
import java.io.InputStream;

/**
 * Loads those of hvd's classes that call MPI by Java's foreign functions, and so need Java 22. They lie where a multi-release
 * jar has them, but are found there whatever the manifest says, which a build of one jar out of many may have lost.
 */
public final class ForeignClassLoader extends ClassLoader {
    static final int LEAST_JAVA = 22;

    private static final String FOREIGN = "io.hvd.transport.mpi.foreign.";
    private static final String FOLDER = "META-INF/versions/22/";

    static {
        registerAsParallelCapable();
    }

    private final String mpiFile;

    /** @param mpiFile the file of MPI's library, or a name that the system's loader knows */
    ForeignClassLoader(String mpiFile) {
        super("mpi", ForeignClassLoader.class.getClassLoader());
        this.mpiFile = mpiFile;
        Module own = ForeignClassLoader.class.getModule();
        own.getPackages().forEach(used -> own.addExports(used, getUnnamedModule()));
    }

    /** The file of MPI's library, for the classes that are loaded here. */
    public String mpiFile() {
        return mpiFile;
    }

    /** Whether hvd has these classes: a build by an older Java leaves them out. */
    static boolean hasClasses() {
        return ForeignClassLoader.class.getResource("/" + resource(FOREIGN + "ForeignMpi")) != null;
    }

    private static String resource(String name) {
        return FOLDER + name.replace('.', '/') + ".class";
    }

    /** Loads these classes itself, though its parent may find them too, because they ask for {@link #mpiFile}. */
    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
        if (!name.startsWith(FOREIGN)) {
            return super.loadClass(name, resolve);
        }
        synchronized (getClassLoadingLock(name)) {
            Class<?> loaded = findLoadedClass(name);
            return loaded != null ? loaded : findClass(name);
        }
    }

    @Override
    protected Class<?> findClass(String name) throws ClassNotFoundException {
        try (InputStream file = getParent().getResourceAsStream(resource(name))) {
            if (file == null) {
                throw new ClassNotFoundException(name);
            }
            byte[] bytes = file.readAllBytes();
            return defineClass(name, bytes, 0, bytes.length);
        } catch (IOException e) {
            throw new ClassNotFoundException(name, e);
        }
    }
}
