package io.hvd.backend.cuda;

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
 * Loads JCuda's native libraries without the trap in its own way of doing it: it unpacks them to
 * fixed names in {@code java.io.tmpdir} and takes a file that exists for a finished one, so that ranks
 * which start together load each other's half-written files and crash.
 *
 * <p>JCuda looks into the JVM's path of native libraries first and reads {@code java.io.tmpdir} at the moment of
 * unpacking. So the libraries are unpacked safely into a cache folder of ours, and the property points
 * there while JCuda's runtime and driver classes initialise. Its other parts (NVRTC, cuBLAS and so on) are
 * the program's own business.
 */
public final class JCudaLibraries {
    private static final String TEMPORARY_FOLDER = "java.io.tmpdir";

    private JCudaLibraries() {}

    /**
     * Throws LinkageError if the driver interface is found neither on the JVM's path of native libraries nor in JCuda's
     * jar of natives, or if there is no libcuda.so.1 for it.
     */
    public static void load() {
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
            // hvd does without the runtime interface; a program that uses it will hear of it.
            return;
        }
    }

    /** JCuda loads a library while the class that calls it initialises. */
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
            // By the loader, not by the class: on the module path the natives are another module's than JCuda's
            // classes.
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
