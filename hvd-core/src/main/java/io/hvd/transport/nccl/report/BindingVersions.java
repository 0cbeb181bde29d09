package io.hvd.transport.nccl.report;

import java.io.IOException;
import java.io.InputStream;
import java.net.URL;
import java.util.Properties;

/**
 * Versions of the Java bindings on the class path. They are read from files in the bindings' jars without loading a
 * class, so nothing is unpacked and nothing can fail to load.
 *
 * @param jcuda the version of JCuda, such as {@code 12.6.0}, with a remark if its jar of natives is missing; empty if
 *     JCuda is missing
 * @param cuda the version of JavaCPP's binding of CUDA and NCCL, in the same form
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

    /** The version, with a remark if the natives are missing: they may be somewhere else, so this is not an error. */
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
