package io.hvd.backend.nccl;

import io.hvd.error.HvdException;
import io.hvd.spi.GpuDriver.Gpu;
import java.util.List;

/**
 * Says whether this process can use NCCL. It is looked for once, and only if CUDA shows a GPU.
 *
 * @param calls NCCL's functions; null if something is missing
 * @param gpus the GPUs that this process sees
 * @param missing the reason why NCCL cannot be used; empty if it can
 * @param hostId the value by which NCCL tells this process's host from others; empty if NCCL finds that out by itself
 * @param process identifies this process among those of its machine
 */
record NcclPresence(NcclCalls calls, List<Gpu> gpus, String missing, String hostId, String process) {
    private static final String HOST_ID = "NCCL_HOSTID";

    private static NcclPresence presence;

    /** The presence in this process, without a NCCL_HOSTID. */
    NcclPresence(NcclCalls calls, List<Gpu> gpus, String missing) {
        this(calls, gpus, missing, "", Long.toString(ProcessHandle.current().pid()));
    }

    NcclPresence withHostId(String id) {
        return new NcclPresence(calls, gpus, missing, id, process);
    }

    NcclPresence withProcess(String id) {
        return new NcclPresence(calls, gpus, missing, hostId, id);
    }

    static synchronized NcclPresence ofThisProcess() {
        if (presence == null) {
            presence = look(CudaPresence.ofThisProcess())
                    .withHostId(System.getenv().getOrDefault(HOST_ID, ""));
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
