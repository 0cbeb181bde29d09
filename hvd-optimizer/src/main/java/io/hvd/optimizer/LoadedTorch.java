package io.hvd.optimizer;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
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

    /** What is loaded now; nothing where the system does not tell. */
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

    private static HvdException twice(String djls, String javaCpps) {
        return new HvdException(
                ErrorId.INIT_FAILED,
                "two builds of LibTorch would be in this process, DJL's (" + djls + ") and JavaCPP's (" + javaCpps
                        + "): their functions have the same names, so that one would call the other's. Train with DJL, or with"
                        + " org.bytedeco:pytorch and TorchOptimizer, and take the other one from the class path");
    }
}
