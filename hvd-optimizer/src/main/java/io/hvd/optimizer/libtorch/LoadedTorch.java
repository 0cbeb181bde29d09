package io.hvd.optimizer.libtorch;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.List;
import java.util.Optional;

/**
 * The LibTorch that this process has loaded: DJL brings one build, JavaCPP another. In one process the functions of the two
 * would be mixed, and the JVM would crash or compute nonsense, so that whichever adapter comes second refuses.
 *
 * @param ofDjl the library that binds DJL to its LibTorch
 * @param ofJavaCpp the library that binds JavaCPP to its LibTorch
 */
public record LoadedTorch(Optional<String> ofDjl, Optional<String> ofJavaCpp) {
    private static final Path MAPS = Path.of("/proc/self/maps");
    private static final String DJLS = "libdjl_torch.so";
    private static final String JAVACPPS = "libjnitorch.so";
    /** In every jar with JavaCPP's classes. */
    private static final String BINDING = "org/bytedeco/pytorch/global/torch.class";
    /** In ai.djl.pytorch:pytorch-jni, without which DJL's engine loads no natives. */
    private static final String DJLS_NATIVES = "jnilib/pytorch.properties";

    /** The libraries that are loaded now; none where the system does not tell. */
    public static LoadedTorch now() {
        try {
            return Files.isReadable(MAPS) ? in(Files.readAllLines(MAPS)) : in(List.of());
        } catch (IOException e) {
            return in(List.of());
        }
    }

    /** @param maps lines of {@code /proc/PID/maps}: addresses, permissions and numbers, then the path */
    static LoadedTorch in(List<String> maps) {
        return new LoadedTorch(path(maps, DJLS), path(maps, JAVACPPS));
    }

    /** DJL puts its version before the name. */
    private static Optional<String> path(List<String> maps, String library) {
        return maps.stream()
                .filter(line -> line.contains("/") && line.endsWith(library))
                .map(line -> line.substring(line.indexOf('/')))
                .findFirst();
    }

    /**
     * Refuses JavaCPP's LibTorch where DJL's is.
     *
     * @param javaCpps where JavaCPP's is to be loaded from
     * @throws HvdException that names both files
     */
    public void requireNoDjl(String javaCpps) {
        ofDjl.ifPresent(djls -> {
            throw twice(djls, ofJavaCpp.orElse(javaCpps));
        });
    }

    /**
     * Refuses DJL's LibTorch where JavaCPP's is.
     *
     * @param djls where DJL's is to be loaded from
     * @throws HvdException that names both files
     */
    public void requireNoJavaCpp(String djls) {
        ofJavaCpp.ifPresent(javaCpps -> {
            throw twice(ofDjl.orElse(djls), javaCpps);
        });
    }

    /**
     * Looks for a second LibTorch on the class path before one is loaded: DJL's, or another jar with JavaCPP's classes or natives, such as
     * a fork of org.bytedeco:pytorch.
     *
     * @param platform as JavaCPP names it
     * @return a warning that names the jars and says what to do; empty if there is one LibTorch
     */
    public static Optional<String> secondOnClassPath(ClassLoader loader, String platform) throws IOException {
        for (String binding : List.of(BINDING, "org/bytedeco/pytorch/" + platform + "/" + JAVACPPS)) {
            List<String> jars = jarsWith(loader, binding);
            if (jars.size() > 1) {
                return Optional.of(
                        "there are " + jars.size() + " LibTorch builds of JavaCPP's form on the class path, each with "
                                + binding + ": " + String.join(", ", jars)
                                + ". Which one is used depends on their order, and classes of one may load natives of another, which can end the"
                                + " JVM. Keep one of them, such as org.bytedeco:pytorch-platform, and exclude the other");
            }
        }
        List<String> djls = jarsWith(loader, DJLS_NATIVES);
        return djls.isEmpty()
                ? Optional.empty()
                : Optional.of(
                        "DJL's LibTorch is on the class path beside JavaCPP's: " + String.join(", ", djls) + " beside "
                                + String.join(", ", jarsWith(loader, BINDING))
                                + ". One process can load only one of them, and DJL fails with an undefined symbol after JavaCPP's. Train with"
                                + " JavaCPP's and exclude ai.djl.pytorch, or train with DJL and exclude org.bytedeco:pytorch");
    }

    private static List<String> jarsWith(ClassLoader loader, String resource) throws IOException {
        return Collections.list(loader.getResources(resource)).stream()
                .map(url -> jar(url.toString(), resource))
                .distinct()
                .toList();
    }

    /** The jar or folder of a resource, such as {@code /lib/pytorch.jar} of {@code jar:file:/lib/pytorch.jar!/a/b}. */
    private static String jar(String url, String resource) {
        return url.substring(0, url.length() - resource.length())
                .replaceFirst("^(jar:)?(nested:|file:)*", "")
                .replaceFirst("!?/$", "");
    }

    private static HvdException twice(String djls, String javaCpps) {
        return new HvdException(
                ErrorId.INIT_FAILED,
                "two builds of LibTorch would be in this process, DJL's (" + djls + ") and JavaCPP's (" + javaCpps
                        + "): their functions have the same names, so that one would call the other's. Train with DJL, or with"
                        + " org.bytedeco:pytorch and TorchOptimizer, and take the other one from the class path");
    }
}
