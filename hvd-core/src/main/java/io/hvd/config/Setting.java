package io.hvd.config;

/** Every environment variable that hvd reads; the README's table is made from this list. */
public enum Setting {
    BACKEND(
            "HVD_BACKEND",
            "auto",
            "auto, local, mpi or nccl; auto takes mpi when started by mpirun or srun, with nccl for tensors on GPUs"
                    + " where it can be used, else local"),
    OPENMPI_HOME("HVD_OPENMPI_HOME", "", "prefix of the Open MPI to use; otherwise the one of the mpirun on PATH"),
    MPI_JAR("HVD_MPI_JAR", "", "mpi.jar to use instead of the one found; its version must be Open MPI's"),
    FUSION_THRESHOLD(
            "HOROVOD_FUSION_THRESHOLD", "134217728", "bytes that one fused operation may hold; 0 switches fusion off"),
    CYCLE_TIME(
            "HOROVOD_CYCLE_TIME", "1.0", "milliseconds that an operation nobody waits for may be held back for fusion"),
    STAGE_BYTES("HVD_STAGE_BYTES", "4194304", "bytes of the staging buffer through which host tensors stream"),
    PIN_GPU("HVD_PIN_GPU", "1", "0 leaves the choice of the GPU to the program"),
    SHARE_GPU("HVD_SHARE_GPU", "0", "1 lets several ranks of a node share a GPU when there are more ranks than GPUs"),
    THREADS(
            "HVD_THREADS_PER_RANK",
            "0",
            "CPU threads of LibTorch and OpenBLAS per rank; 0 means cores divided by local ranks, less one for communication and loading"),
    MPI_THREADS_DISABLE(
            "HOROVOD_MPI_THREADS_DISABLE", "0", "1 asks MPI for MPI_THREAD_SINGLE instead of MPI_THREAD_FUNNELED"),
    START_TIMEOUT("HOROVOD_START_TIMEOUT", "30", "seconds within which the ranks must have found each other"),
    CONTROL_INTERFACE("HOROVOD_GLOO_IFACE", "", "network interface of the control plane between hosts"),
    FAILURE_DIR("HVD_FAILURE_DIR", "", "folder for failure records, set by horovodrun");

    private final String variable;
    private final String defaultValue;
    private final String meaning;

    Setting(String variable, String defaultValue, String meaning) {
        this.variable = variable;
        this.defaultValue = defaultValue;
        this.meaning = meaning;
    }

    public String variable() {
        return variable;
    }

    public String defaultValue() {
        return defaultValue;
    }

    public String meaning() {
        return meaning;
    }
}
