package io.hvd.backend.nccl;

import java.io.IOException;
import java.io.InputStream;
import java.net.URL;
import java.util.Properties;

/**
 * Versions of the Java bindings on the class path, read from files in their jars: none of their classes is loaded,
 * so nothing is unpacked and nothing can fail to load.
 *
 * @param jcuda such as {@code 12.6.0}, with a remark if its jar of natives is missing; empty if it is not there
 * @param cuda JavaCPP's binding of CUDA and NCCL, likewise
 */
record BindingVersions(String jcuda, String cuda) {
    private static final String PLATFORM = "linux-x86_64";

    static BindingVersions ofClassPath(ClassLoader loader) {
        String jcuda = version(loader, "org.jcuda", "jcuda");
        String cuda = version(loader, "org.bytedeco", "cuda");
        return new BindingVersions(
                remarked(loader, jcuda, "lib/libJCudaDriver-" + jcuda + "-" + PLATFORM + ".so"),
                remarked(loader, cuda, "org/bytedeco/cuda/" + PLATFORM + "/libjninccl.so"));
    }

    /** Natives may lie elsewhere too, so their absence is a remark only. */
    private static String remarked(ClassLoader loader, String version, String library) {
        return version.isEmpty() || loader.getResource(library) != null
                ? version
                : version + ", its natives are not on the class path";
    }

    private static String version(ClassLoader loader, String group, String artifact) {
        URL file = loader.getResource("META-INF/maven/" + group + "/" + artifact + "/pom.properties");
        if (file == null) {
            return "";
        }
        Properties properties = new Properties();
        try (InputStream in = file.openStream()) {
            properties.load(in);
        } catch (IOException e) {
            return "";
        }
        return properties.getProperty("version", "");
    }
}
