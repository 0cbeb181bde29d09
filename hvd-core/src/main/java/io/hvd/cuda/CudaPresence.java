package io.hvd.cuda;

import io.hvd.spi.GpuDriver.Gpu;
import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * The GPUs that this process sees. They are looked for once, because a library that failed to load cannot be tried
 * again in the same JVM.
 *
 * @param gpus the GPUs in the order of CUDA_VISIBLE_DEVICES
 * @param missing why there are none; empty if there are some
 */
public record CudaPresence(List<Gpu> gpus, String missing) {
    /** The device file of NVIDIA's driver on Linux, and the one under the Windows Subsystem for Linux. */
    private static final List<Path> DRIVER = List.of(Path.of("/dev/nvidiactl"), Path.of("/dev/dxg"));

    private static final String LIBRARY = "libcuda.so.1";

    private static CudaPresence process;

    public static synchronized CudaPresence ofThisProcess() {
        if (process == null) {
            process = look(DRIVER, System.getenv("LD_LIBRARY_PATH"));
        }
        return process;
    }

    /**
     * Looks for GPUs in an order that costs next to nothing on a machine without a GPU; never throws.
     *
     * @param driver device files, one of which exists where a driver is loaded
     * @param libraryPath folders, separated by colons. A libcuda.so.1 in one of them counts as a driver too, because
     *     somebody has put it there for this purpose; null for none
     */
    static CudaPresence look(List<Path> driver, String libraryPath) {
        if (!anyExists(driver) && !holdsDriver(libraryPath)) {
            return none("no NVIDIA driver is loaded (none of " + driver + " exists, nor " + LIBRARY
                    + " in a folder of LD_LIBRARY_PATH)");
        }
        try {
            return CudaDevices.look();
        } catch (LinkageError e) {
            return none("JCuda is not usable: " + firstLine(e));
        } catch (RuntimeException e) {
            return none("CUDA failed: " + firstLine(e));
        }
    }

    /** A plain loop, because every program runs this at its start, and the first lambda of a JVM costs milliseconds. */
    private static boolean anyExists(List<Path> files) {
        for (Path file : files) {
            if (Files.exists(file)) {
                return true;
            }
        }
        return false;
    }

    private static boolean holdsDriver(String libraryPath) {
        if (libraryPath == null) {
            return false;
        }
        for (String folder : libraryPath.split(":")) {
            if (!folder.isEmpty() && new File(folder, LIBRARY).exists()) {
                return true;
            }
        }
        return false;
    }

    static CudaPresence none(String why) {
        return new CudaPresence(List.of(), why);
    }

    public static String firstLine(Throwable error) {
        return MissingLibrary.named(error);
    }
}
