package io.hvd.config;

import static io.hvd.config.Setting.Scope.JOB;
import static io.hvd.config.Setting.Scope.RANK;

import io.hvd.log.HvdLogger;
import io.hvd.net.PortRange;

/** Every environment variable that hvd reads. The table of docs/reference/settings.md is made from this list. */
public enum Setting {
    BACKEND(
            "HVD_BACKEND",
            "auto",
            JOB,
            "auto, local, mpi, tcp, nccl or transport:NAME of a TransportProvider; auto takes mpi under mpirun or srun,"
                    + " tcp if hvd can call no MPI or another launcher has started the ranks (nccl for tensors"
                    + " on GPUs if it can be used), else local"),
    RENDEZVOUS(
            "HVD_RENDEZVOUS",
            "",
            RANK,
            "host:port at which rank 0 lets the ranks meet without MPI, or elastic=host:port of an elastic job's coordinator;"
                    + " horovodrun --gloo sets its own address"),
    SECRET(
            "HVD_SECRET",
            "",
            RANK,
            "any text that only the processes of this job know, for ranks that meet without MPI"),
    PORT_RANGE(
            PortRange.VARIABLE,
            "",
            RANK,
            "ports at which hvd listens, such as 20000-20099, equal on all hosts; not set: the system's choice"),
    TLS(
            "HVD_TLS",
            "0",
            JOB,
            "1 encrypts hvd's own connections by TLS 1.3, with keys that javax.net.ssl.keyStore and trustStore name"),
    TCP_CONNECTIONS(
            "HVD_TCP_CONNECTIONS",
            "1",
            JOB,
            "connections between two ranks whose data travels over TCP, from 1 to 16; more help where a network limits each"
                    + " of them"),
    CONTROLLER("HOROVOD_CONTROLLER", "", JOB, "HOROVOD_CPU_OPERATIONS where that is not set"),
    CPU_OPERATIONS("HOROVOD_CPU_OPERATIONS", "", JOB, "gloo makes auto take tcp, and mpi makes it require MPI"),
    OPENMPI_HOME("HVD_OPENMPI_HOME", "", RANK, "prefix of the Open MPI to use; otherwise that of the mpirun on PATH"),
    MPI_JAR("HVD_MPI_JAR", "", RANK, "mpi.jar to use instead of the one found; its version must be Open MPI's"),
    MPI_LIBRARY("HVD_MPI_LIBRARY", "", RANK, "any MPI's library, to call without mpi.jar; needs Java 22"),
    MPI_THREADS_DISABLE(
            "HOROVOD_MPI_THREADS_DISABLE", "0", JOB, "1 asks MPI for MPI_THREAD_SINGLE instead of MPI_THREAD_FUNNELED"),
    START_TIMEOUT("HOROVOD_START_TIMEOUT", "30", JOB, "seconds within which the ranks must have found each other"),
    GLOO_TIMEOUT("HOROVOD_GLOO_TIMEOUT_SECONDS", "", JOB, "HOROVOD_START_TIMEOUT where that is not set"),
    CONTROL_INTERFACE(
            "HOROVOD_GLOO_IFACE",
            "",
            RANK,
            "network interfaces of hvd's connections between hosts: names, networks such as 10.0.0.0/8"),
    FUSION_THRESHOLD(
            "HOROVOD_FUSION_THRESHOLD",
            "134217728",
            JOB,
            "bytes that one fused operation may hold; 0 switches fusion off"),
    BUCKET_BYTES(
            "HVD_BUCKET_BYTES",
            "0",
            JOB,
            "bytes at which a DistributedOptimizer closes a group of gradients; 0 is a quarter of all, at most"
                    + " 25 MiB; a builder may say otherwise"),
    DISABLE_GROUP_FUSION(
            "HOROVOD_DISABLE_GROUP_FUSION", "0", JOB, "1 lets the tensors of a group travel in several operations"),
    CYCLE_TIME(
            "HOROVOD_CYCLE_TIME",
            "1.0",
            JOB,
            "milliseconds for which an operation may wait for fusion if no thread waits for it"),
    CACHE_CAPACITY(
            "HOROVOD_CACHE_CAPACITY",
            "1024",
            JOB,
            "operation names that the ranks remember having agreed on; 0 remembers none"),
    STATIC_PLAN_STEPS(
            "HVD_STATIC_PLAN_STEPS",
            "10",
            JOB,
            "identical steps after which the ranks follow a static plan instead of negotiating; 0 always"
                    + " negotiates"),
    DYNAMIC_PROCESS_SETS(
            "HOROVOD_DYNAMIC_PROCESS_SETS", "0", JOB, "1 allows process sets to be added and removed after init"),
    STAGE_BYTES("HVD_STAGE_BYTES", "4194304", JOB, "bytes of the staging buffer through which host tensors stream"),
    SHARED_MEMORY("HVD_SHARED_MEMORY", "1", JOB, "0 makes the ranks of a host use MPI or TCP instead of shared memory"),
    ALLREDUCE_ALGORITHM(
            "HVD_ALLREDUCE_ALGORITHM",
            "auto",
            JOB,
            "allreduces between processes: ring is hvd's own, mpi is MPI_Allreduce, or without MPI one or two exchanges, auto chooses by the size"),
    PIN_GPU("HVD_PIN_GPU", "1", JOB, "0 leaves the choice of the GPU to the program"),
    GPUS_PER_RANK(
            "HVD_GPUS_PER_RANK", "1", JOB, "GPUs of each rank; with 2, local rank n has the visible GPUs 2n and 2n+1"),
    SHARE_GPU("HVD_SHARE_GPU", "0", JOB, "1 lets ranks share a GPU when there are more ranks than GPUs"),
    GPU_STAGE_BYTES(
            "HVD_GPU_STAGE_BYTES",
            "67108864",
            JOB,
            "bytes of GPU memory for a batch of small tensors; without NCCL also of pinned host memory"),
    GPU_RESULT_BYTES(
            "HVD_GPU_RESULT_BYTES",
            "268435456",
            JOB,
            "bytes of GPU memory kept for later results; 0 frees such memory at once, which waits for all work"
                    + " of the GPU"),
    HIERARCHICAL_ALLREDUCE(
            "HOROVOD_HIERARCHICAL_ALLREDUCE",
            "",
            JOB,
            "1: allreduces between GPUs use NCCL inside a host, and MPI between hosts; without GPUs, ranks add"
                    + " inside their host first unless this is 0"),
    TORUS_ALLREDUCE(
            "HOROVOD_TORUS_ALLREDUCE",
            "0",
            JOB,
            "1: allreduces between GPUs use NCCL inside a host, then NCCL between hosts; it wins over"
                    + " HOROVOD_HIERARCHICAL_ALLREDUCE"),
    ASYNC_COMPLETION(
            "HOROVOD_ENABLE_ASYNC_COMPLETION",
            "0",
            JOB,
            "1 completes a handle of GPU work as soon as the work is queued; the tensors' streams wait for its"
                    + " end"),
    THREADS(
            "HVD_THREADS_PER_RANK",
            "0",
            RANK,
            "CPU threads of LibTorch and OpenBLAS per rank; 0 means cores divided by local ranks, less one"),
    STALL_CHECK_DISABLE("HOROVOD_STALL_CHECK_DISABLE", "0", JOB, "1 stops looking for ranks that others wait for"),
    STALL_CHECK_TIME(
            "HOROVOD_STALL_CHECK_TIME_SECONDS",
            "60",
            JOB,
            "seconds of waiting after which the missing ranks are named"),
    STALL_SHUTDOWN_TIME(
            "HOROVOD_STALL_SHUTDOWN_TIME_SECONDS",
            "600",
            JOB,
            "seconds of waiting after which the job ends; 0 waits for ever"),
    STANDSTILL_TIME(
            "HVD_STANDSTILL_SECONDS",
            "30",
            JOB,
            "seconds after which the job ends if every thread of all ranks waits and none can make the missing"
                    + " calls; 0 leaves it to the limit above"),
    STRICT("HVD_STRICT", "0", JOB, "1 checks that all ranks make the same calls in the same order, which costs time"),
    DIVERGENCE_STEPS(
            "HVD_DIVERGENCE_STEPS",
            "500",
            JOB,
            "optimizer steps between two comparisons of the ranks' parameters; 0 never compares"),
    REFUSE_NON_FINITE(
            "HVD_REFUSE_NON_FINITE",
            "0",
            JOB,
            "1 refuses a step whose gradients have an infinity or NaN, and names the parameter and the ranks"),
    MAX_BUFFER_BYTES(
            "HVD_MAX_BUFFER_BYTES",
            "0",
            RANK,
            "most bytes of direct buffers, shared segments and pinned memory in a process; 0 for any number"),
    BUFFER_SITES(
            "HVD_BUFFER_SITES",
            "0",
            RANK,
            "1 keeps where each buffer was allocated, and lists those still held at the end of the job"),
    FLIGHT_RECORDER("HVD_FLIGHT_RECORDER", "128", JOB, "calls that each rank remembers for the report of a hang"),
    UNCAUGHT_HANDLER(
            "HVD_UNCAUGHT_HANDLER",
            "1",
            RANK,
            "0 leaves uncaught exceptions to the program: a thread that ends by one no longer ends the job"),
    SHOW_RANKS("HVD_SHOW_RANKS", "0", RANK, "1 makes every rank log at init where it runs, as in a Slurm job"),
    REPORT_DIR("HVD_REPORT_DIR", ".", RANK, "folder for the report of a hang"),
    NCCL_RAS("HVD_NCCL_RAS", "1", RANK, "0 leaves NCCL's RAS (at NCCL_RAS_ADDR) out of the report of a hang"),
    STATUS_PAGE("HVD_STATUS_PAGE", "1", RANK, "0 keeps the rank from telling hvd-top once a second what it is doing"),
    FAILURE_DIR("HVD_FAILURE_DIR", "", RANK, "folder for failure records, set by horovodrun"),
    LAUNCHER_ADDRESS(
            "HVD_LAUNCHER_ADDRESS", "", RANK, "where ranks on other hosts send failure records, set by horovodrun"),
    DECLARED_JOB(
            "HVD_DECLARED_JOB",
            "",
            RANK,
            "ranks and hosts of the job, set by horovodrun; a smaller job is an error at init"),
    FAULT_PLAN(
            "HVD_FAULT_PLAN",
            "",
            RANK,
            "what a test lets happen to ranks of an elastic job, such as kill 1 at step 40"),
    TERMINAL("HVD_TERMINAL", "0", RANK, "1 if horovodrun writes to a terminal, set by horovodrun"),
    CLASS_ARCHIVE(
            "HVD_CLASS_ARCHIVE",
            "auto",
            RANK,
            "auto: horovodrun keeps a class-data archive of each program for its next starts; off: none; wait:"
                    + " it also waits after the job until a new one is there"),
    PREFIX_RANK(
            "HVD_PREFIX_RANK", "0", RANK, "1 puts the rank in brackets before each line of System.out and System.err"),
    LOG_LEVEL(
            HvdLogger.VARIABLE,
            "",
            RANK,
            "trace, debug, info, warning, error or fatal, with every provider of SLF4J; not set: warning, and the INFO"
                    + " lines on how the job starts, goes on and ends"),
    LOG_HIDE_TIME("HOROVOD_LOG_HIDE_TIME", "0", RANK, "1 leaves the time out of log lines"),
    TIMELINE("HOROVOD_TIMELINE", "", JOB, "file for the timeline, or DYNAMIC to start it from the program"),
    TIMELINE_MARK_CYCLES("HOROVOD_TIMELINE_MARK_CYCLES", "0", JOB, "1 marks the engine's cycles in the timeline"),
    AUTOTUNE("HOROVOD_AUTOTUNE", "0", JOB, "1 looks for better settings while the program trains, unless they are set"),
    AUTOTUNE_LOG("HOROVOD_AUTOTUNE_LOG", "", RANK, "CSV file of rank 0 for the samples that tuning takes"),
    AUTOTUNE_WARMUP_SAMPLES(
            "HOROVOD_AUTOTUNE_WARMUP_SAMPLES",
            "3",
            JOB,
            "first samples that do not count; with 0 the first steps after a change count too"),
    AUTOTUNE_STEPS_PER_SAMPLE("HOROVOD_AUTOTUNE_STEPS_PER_SAMPLE", "10", JOB, "fewest steps in each sample"),
    AUTOTUNE_SAMPLE_MILLIS("HVD_AUTOTUNE_SAMPLE_MILLIS", "100", JOB, "least milliseconds of each sample"),
    AUTOTUNE_MAX_SAMPLES(
            "HOROVOD_AUTOTUNE_BAYES_OPT_MAX_SAMPLES",
            "20",
            JOB,
            "samples for the search of each setting; 24 for the comparison come on top");

    /** Says whether a setting may differ between ranks. */
    public enum Scope {
        /** All ranks of the job must have one value. */
        JOB,
        /** Each rank may have a value of its own. */
        RANK
    }

    private final String variable;
    private final String defaultValue;
    private final Scope scope;
    private final String meaning;

    Setting(String variable, String defaultValue, Scope scope, String meaning) {
        this.variable = variable;
        this.defaultValue = defaultValue;
        this.scope = scope;
        this.meaning = meaning;
    }

    public String variable() {
        return variable;
    }

    public String defaultValue() {
        return defaultValue;
    }

    public Scope scope() {
        return scope;
    }

    /** Whether its value may stand in no report, as it holds, or may hold, what only the processes of the job know. */
    public boolean isSecret() {
        return this == SECRET || this == RENDEZVOUS || this == LAUNCHER_ADDRESS;
    }

    public String meaning() {
        return meaning;
    }
}
