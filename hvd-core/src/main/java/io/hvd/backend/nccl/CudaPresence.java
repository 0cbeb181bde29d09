package io.hvd.backend.nccl;

import io.hvd.spi.GpuDriver.Gpu;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * Which GPUs this process sees. Looked for once: a library that failed to load cannot be tried again
 * in the same JVM.
 *
 * @param gpus in the order of CUDA_VISIBLE_DEVICES
 * @param missing why there are none; empty if there are some
 */
record CudaPresence(List<Gpu> gpus, String missing) {
    /** NVIDIA's driver makes the first on Linux, the second is its place under Windows' Linux. */
    private static final List<Path> DRIVER = List.of(Path.of("/dev/nvidiactl"), Path.of("/dev/dxg"));

    private static CudaPresence process;

    static synchronized CudaPresence ofThisProcess() {
        if (process == null) {
            process = look(DRIVER);
        }
        return process;
    }

    /**
     * Looks in the order that costs nothing on a machine without a GPU and never throws.
     *
     * @param driver device files, one of which exists where a driver is loaded
     */
    static CudaPresence look(List<Path> driver) {
        if (!anyExists(driver)) {
            return none("no NVIDIA driver is loaded (none of " + driver + " exists)");
        }
        try {
            return CudaDevices.look();
        } catch (LinkageError e) {
            return none("JCuda is not usable: " + firstLine(e));
        } catch (RuntimeException e) {
            return none("CUDA failed: " + firstLine(e));
        }
    }

    /** A plain loop: every start of every program passes here, and the first lambda of a JVM costs milliseconds. */
    private static boolean anyExists(List<Path> files) {
        for (Path file : files) {
            if (Files.exists(file)) {
                return true;
            }
        }
        return false;
    }

    static CudaPresence none(String why) {
        return new CudaPresence(List.of(), why);
    }

    /** The first cause tells which library is missing; JCuda puts whole stack traces into its messages. */
    static String firstLine(Throwable error) {
        Throwable first = error;
        while (first.getCause() != null) {
            first = first.getCause();
        }
        return first.toString().lines().findFirst().orElse("").strip();
    }
}
