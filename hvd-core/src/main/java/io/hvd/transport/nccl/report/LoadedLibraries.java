package io.hvd.transport.nccl.report;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.transport.nccl.report.GpuFacts.Library;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.bytedeco.cuda.global.cudart;
import org.bytedeco.javacpp.Loader;

/** The native libraries that this process has mapped, and the version of the CUDA runtime among them. */
final class LoadedLibraries {
    private static final Path MAPS = Path.of("/proc/self/maps");

    private LoadedLibraries() {}

    /**
     * The CUDA runtime; throws LinkageError if JavaCPP's binding or the runtime is missing. NCCL has been looked for
     * before, and that has unpacked both.
     */
    static Library runtime() {
        Loader.load(cudart.class);
        int[] version = new int[1];
        int code = cudart.cudaRuntimeGetVersion(version);
        if (code != cudart.cudaSuccess) {
            throw new HvdException(ErrorId.BACK_END, "cudaRuntimeGetVersion failed with code " + code);
        }
        return new Library(version[0], path("libcudart.so"), "");
    }

    /** The file from which the loader took a library; empty if this process has loaded none of that name. */
    static String path(String library) {
        try {
            return path(library, Files.readAllLines(MAPS));
        } catch (IOException e) {
            return "";
        }
    }

    /** @param maps lines of {@code /proc/PID/maps}: addresses, permissions and numbers, then the path */
    static String path(String library, List<String> maps) {
        return maps.stream()
                .filter(line -> line.contains("/" + library))
                .map(line -> line.substring(line.indexOf('/')))
                .filter(path -> path.lastIndexOf('/') == path.lastIndexOf("/" + library))
                .findFirst()
                .orElse("");
    }
}
