package io.hvd.transport.nccl.natives;

import io.hvd.cuda.CudaPresence;
import io.hvd.error.HvdException;
import io.hvd.spi.GpuDriver.Gpu;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * Says whether this process can use NCCL. It is looked for once, and only if CUDA shows a GPU.
 *
 * @param calls NCCL's functions; null if something is missing
 * @param gpus the GPUs that this process sees
 * @param missing the reason why NCCL cannot be used; empty if it can
 * @param variables what NCCL itself is told about ranks that have the same GPU
 * @param process identifies this process among those of its machine
 */
public record NcclPresence(NcclCalls calls, List<Gpu> gpus, String missing, NcclVariables variables, String process) {
    private static final Path PID_NAMESPACE = Path.of("/proc/self/ns/pid");
    private static NcclPresence presence;

    /** The presence in this process, in which none of NCCL's variables is set. */
    public NcclPresence(NcclCalls calls, List<Gpu> gpus, String missing) {
        this(
                calls,
                gpus,
                missing,
                NcclVariables.NONE,
                process(ProcessHandle.current().pid(), PID_NAMESPACE));
    }

    /**
     * The process's number with the namespace that gives it: two containers of a machine may have equal numbers.
     *
     * @param namespace the link that names it; the number stands alone where it cannot be read
     */
    public static String process(long pid, Path namespace) {
        try {
            return pid + " in " + Files.readSymbolicLink(namespace);
        } catch (IOException | SecurityException | UnsupportedOperationException e) {
            return Long.toString(pid);
        }
    }

    public NcclPresence with(NcclVariables set) {
        return new NcclPresence(calls, gpus, missing, set, process);
    }

    public static synchronized NcclPresence ofThisProcess() {
        if (presence == null) {
            presence = look(CudaPresence.ofThisProcess()).with(NcclVariables.of(System.getenv()));
        }
        return presence;
    }

    private static NcclPresence look(CudaPresence cuda) {
        if (cuda.gpus().isEmpty()) {
            return new NcclPresence(null, List.of(), "no GPU: " + cuda.missing());
        }
        try {
            return new NcclPresence(InstalledNccl.load(), cuda.gpus(), "");
        } catch (HvdException e) {
            return new NcclPresence(null, cuda.gpus(), e.getMessage());
        } catch (LinkageError | RuntimeException e) {
            return new NcclPresence(null, cuda.gpus(), "NCCL did not load: " + CudaPresence.firstLine(e));
        }
    }
}
