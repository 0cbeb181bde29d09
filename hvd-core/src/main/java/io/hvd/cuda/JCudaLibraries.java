package io.hvd.cuda;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import jcuda.JCudaVersion;
import jcuda.LibUtils;
import jcuda.driver.JCudaDriver;
import jcuda.runtime.JCuda;

/**
 * Loads JCuda's native libraries in a safe way. JCuda itself unpacks them to
 * fixed names in {@code java.io.tmpdir} and regards a file that exists as complete. Ranks that start
 * together would load each other's incomplete files and crash.
 *
 * <p>JCuda looks into the JVM's path of native libraries first, and reads {@code java.io.tmpdir} when it
 * unpacks. This class therefore unpacks the libraries into a cache folder, and lets the property point
 * there while JCuda's runtime and driver classes initialise. It does not load JCuda's other parts (NVRTC, cuBLAS and so
 * on), which the program loads itself.
 */
public final class JCudaLibraries {
    private static final String TEMPORARY_FOLDER = "java.io.tmpdir";

    private JCudaLibraries() {}

    /**
     * Loads the libraries. Throws LinkageError if the driver interface is found neither on the JVM's path of native
     * libraries nor in JCuda's jar of natives, or if there is no libcuda.so.1 for it. One thread at a time, because the
     * property belongs to the process and several ranks may be its threads.
     */
    public static synchronized void load() {
        Map<String, byte[]> natives = packedNatives();
        if (natives.isEmpty()) {
            initialise();
            return;
        }
        Path folder = LibraryCache.ofThisUser().folderWith("jcuda-" + JCudaVersion.get(), natives);
        String before = System.getProperty(TEMPORARY_FOLDER);
        System.setProperty(TEMPORARY_FOLDER, folder.toString());
        try {
            initialise();
        } finally {
            System.setProperty(TEMPORARY_FOLDER, before);
        }
    }

    private static void initialise() {
        load(JCudaDriver.class);
        DriverLibrary.requireGenuine();
        try {
            load(JCuda.class);
        } catch (LinkageError e) {
            // hvd does not need the runtime interface; a program that uses it gets the error there.
            return;
        }
    }

    /** Initialises a class of JCuda's, which loads its library. */
    private static void load(Class<?> caller) {
        try {
            Class.forName(caller.getName());
        } catch (ClassNotFoundException e) {
            throw new NoClassDefFoundError(caller.getName());
        }
    }

    /** The libraries as the jar of natives holds them; empty if it is neither on the class path nor on the module path. */
    private static Map<String, byte[]> packedNatives() {
        Map<String, byte[]> natives = new TreeMap<>();
        for (String part : new String[] {"JCudaRuntime-", "JCudaDriver-"}) {
            String name = LibUtils.createLibraryFileName(LibUtils.createPlatformLibraryName(part + JCudaVersion.get()));
            // The loader is asked, not the class, because on the module path natives and classes are in different
            // modules.
            try (InputStream packed = LibUtils.class.getClassLoader().getResourceAsStream("lib/" + name)) {
                if (packed != null) {
                    natives.put(name, packed.readAllBytes());
                }
            } catch (IOException e) {
                throw new java.io.UncheckedIOException("reading " + name + " from JCuda's jar of natives", e);
            }
        }
        return natives;
    }
}
