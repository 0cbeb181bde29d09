package io.hvd.optimizer.torch.natives;

import java.io.File;
import java.io.IOException;
import java.net.MalformedURLException;
import java.net.URI;
import java.net.URL;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.bytedeco.javacpp.ClassProperties;
import org.bytedeco.javacpp.Loader;

/**
 * LibTorch's libraries unpacked beforehand, in a folder that {@value #FOLDERS} names, and in no
 * jar: an image of containers has them so, and its containers unpack nothing. Such a folder may be one that cannot be written.
 */
final class NativeFolder {
    /** Asked first, because a look into jars takes as long as a start saves by its note. */
    private static final String FOLDERS = "org.bytedeco.javacpp.platform.preloadpath";

    private static final String JNI_LIBRARY = "jnitorch";

    private NativeFolder() {}

    /**
     * Has JavaCPP load the libraries from that folder.
     *
     * @return false, with nothing done, if a jar has them or no folder does
     */
    static boolean use() throws IOException {
        if (System.getProperty(FOLDERS) == null) {
            return false;
        }
        ClassProperties wanted = wanted(org.bytedeco.pytorch.presets.torch.class);
        if (isInAJar() || Loader.findLibrary(null, wanted, JNI_LIBRARY).length == 0) {
            return false;
        }
        Stream.of(wanted(org.bytedeco.openblas.presets.openblas_nolapack.class), wanted)
                .forEach(properties -> new LibrarySearch(properties, Set.of()).shorten());
        return true;
    }

    private static ClassProperties wanted(Class<?> presets) {
        return Loader.loadProperties(presets, Loader.loadProperties(), true);
    }

    private static boolean isInAJar() throws IOException {
        String file = System.mapLibraryName(JNI_LIBRARY);
        for (String build : List.of("", NativeUnpacking.CUDA_BUILD)) {
            String folder = "/org/bytedeco/pytorch/" + Loader.getPlatform() + build + "/";
            if (Loader.findResources(Loader.class, folder + file).length > 0) {
                return true;
            }
        }
        return false;
    }

    /**
     * JavaCPP copies a library that it wants by another name, OpenBLAS's, even out of a folder that has it by that name too.
     *
     * @param found the library, with the name that is wanted behind a #
     * @return the file of that name beside it, if there is one
     */
    static URL byItsOtherName(URL found) {
        if (found.getRef() == null || !found.getProtocol().equals("file")) {
            return found;
        }
        try {
            File other = new File(URI.create(found.toString()).resolve(found.getRef()));
            return other.exists() ? other.toURI().toURL() : found;
        } catch (IllegalArgumentException | MalformedURLException e) {
            return found;
        }
    }
}
