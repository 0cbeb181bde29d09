package io.hvd;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.testing.Modules;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/**
 * Imports go down only. Reads the import lines, and names written out in full, of all main sources of
 * all modules and compares them with the table below.
 */
class FloorsTest {
    private static final String TENSOR = "io.hvd.tensor";
    private static final String ERROR = "io.hvd.error";
    private static final String KERNEL = "io.hvd.kernel";
    private static final String NET = "io.hvd.net";
    private static final String CONFIG = "io.hvd.config";
    private static final String FILE = "io.hvd.file";
    private static final String BUFFER = "io.hvd.buffer";
    private static final String SPI = "io.hvd.spi";
    private static final String TRACE = "io.hvd.trace";
    private static final String MONITOR = "io.hvd.monitor";
    private static final String TIMELINE = "io.hvd.timeline";
    private static final String ENGINE = "io.hvd.engine";
    private static final String COLLECTIVE = "io.hvd.collective";
    private static final String CONTROL = "io.hvd.control";
    private static final String RENDEZVOUS = "io.hvd.rendezvous";
    private static final String TCP = "io.hvd.transport.tcp";
    private static final String SIGNAL = "io.hvd.signal";
    private static final String ELASTIC = "io.hvd.elastic";
    private static final String BACKEND = "io.hvd.backend";
    private static final String MEMORY = "io.hvd.host.memory";
    private static final String SHM = "io.hvd.host.shm";
    private static final String LOCAL = "io.hvd.host.local";
    private static final String HYBRID = "io.hvd.host.hybrid";
    private static final String MPI = "io.hvd.transport.mpi";
    private static final String MPI_CALLS = "io.hvd.transport.mpi.calls";
    private static final String OPEN_MPI = "io.hvd.transport.mpi.openmpi";
    private static final String CUDA = "io.hvd.cuda";
    private static final String NCCL = "io.hvd.transport.nccl";
    private static final String NCCL_REPORT = NCCL + ".report";
    private static final String JOB = "io.hvd.job";
    private static final String FACADE = "io.hvd";
    private static final String OPTIMIZER = "io.hvd.optimizer";
    private static final String LAUNCH = "io.hvd.launch";
    private static final String DOCTOR = "io.hvd.doctor";
    /** hvd's log alone knows SLF4J. */
    private static final String LOG = "io.hvd.log";
    /** Events for recordings of JDK Flight Recorder; a module of the JDK. */
    private static final String JFR = "jdk.jfr";

    /** What each package may use besides itself and the JDK; {@code .*} stands for everything below a name. */
    private static final List<Floor> FLOORS = List.of(
            // floor 0: values
            floor(ERROR),
            floor(LOG, "org.slf4j.*"),
            floor(SIGNAL, LOG),
            // the record of memory outside the heap, for everybody who makes some
            floor(BUFFER, ERROR),
            floor(TENSOR, BUFFER, ERROR),
            // conversions and sums, for everybody who moves elements
            floor(KERNEL, TENSOR, BUFFER, ERROR),
            // control messages, and the connections on which they travel
            floor(NET, ERROR, "javax.net.ssl"),
            // tensors over memory of CUDA's, for programs that bring it
            floor(TENSOR + ".cuda", TENSOR, ERROR, "jcuda.*", "org.bytedeco.javacpp.*"),
            floor(CONFIG, NET, ERROR, LOG),
            // files that are there as a whole or not at all, JSON for them, and texts that people write
            floor(FILE, LOG),
            // floor 1
            floor(SPI, KERNEL, TENSOR, ERROR, CONFIG),
            // what has happened on this rank: written by the engine, read by those who explain it
            floor(TRACE, JFR),
            // floor 2: the engine knows no back end, a back end neither the engine nor another back end
            // each may use those above it: messages, decisions about them, operations, and the threads around
            floor(ENGINE + ".message", NET, SPI, TENSOR, ERROR, CONFIG),
            floor(ENGINE + ".coordination", ENGINE + ".message", SPI, TENSOR, CONFIG),
            floor(ENGINE + ".submission", ENGINE + ".message", TRACE, TENSOR, ERROR),
            floor(
                    ENGINE + ".tuning",
                    ENGINE + ".coordination",
                    ENGINE + ".message",
                    ENGINE + ".submission",
                    SPI,
                    CONFIG,
                    LOG),
            floor(
                    ENGINE + ".execution",
                    ENGINE + ".message",
                    ENGINE + ".submission",
                    ENGINE + ".tuning",
                    TRACE,
                    SPI,
                    TENSOR,
                    ERROR,
                    CONFIG),
            floor(
                    ENGINE + ".plan",
                    ENGINE + ".message",
                    ENGINE + ".submission",
                    ENGINE + ".tuning",
                    ENGINE + ".execution",
                    NET,
                    SPI),
            floor(
                    ENGINE + ".loop",
                    ENGINE + ".coordination",
                    ENGINE + ".message",
                    ENGINE + ".submission",
                    ENGINE + ".tuning",
                    ENGINE + ".execution",
                    ENGINE + ".plan",
                    TRACE,
                    SPI,
                    ERROR,
                    CONFIG,
                    LOG),
            floor(ENGINE, ENGINE + ".*", TRACE, SPI, TENSOR, ERROR, CONFIG),
            // the monitor, from what a rank says of itself up to the thread that watches
            floor(MONITOR + ".view", TRACE, SPI),
            floor(MONITOR + ".diagnosis", MONITOR + ".view", SPI),
            floor(MONITOR + ".hang", MONITOR + ".diagnosis", MONITOR + ".view", FILE),
            floor(MONITOR + ".peers", MONITOR + ".view", NET, SPI, LOG),
            floor(MONITOR + ".status", MONITOR + ".view", TRACE, FILE, LOG),
            floor(
                    MONITOR,
                    MONITOR + ".view",
                    MONITOR + ".diagnosis",
                    MONITOR + ".hang",
                    MONITOR + ".peers",
                    MONITOR + ".status",
                    TRACE,
                    CONFIG,
                    LOG),
            floor(
                    TIMELINE,
                    TRACE,
                    NET,
                    SPI,
                    ERROR,
                    CONFIG,
                    FILE,
                    LOG,
                    "javax.management",
                    "javax.management.openmbean"),
            // collectives in memory that ranks share, and what the packages above bring: the memory, and how they see
            // each other
            // algorithms over bytes, for every transport; and control messages over sockets
            floor(COLLECTIVE, SPI, KERNEL, BUFFER, TENSOR, ERROR, CONFIG),
            floor(CONTROL, NET, SPI, ERROR, CONFIG, LOG),
            floor(MEMORY, KERNEL, SPI, BUFFER, TENSOR, ERROR, CONFIG),
            floor(LOCAL, KERNEL, MEMORY, BUFFER, NET, SPI, TENSOR, ERROR, CONFIG, LOG),
            // threads inside a process, over a back end between processes that it knows by the SPI alone
            floor(HYBRID, KERNEL, COLLECTIVE, CONTROL, LOCAL, BUFFER, MEMORY, NET, SPI, TENSOR, ERROR, CONFIG, LOG),
            floor(SHM, KERNEL, MEMORY, BUFFER, SPI, TENSOR, ERROR, CONFIG, FILE, LOG),
            floor(MPI_CALLS, TENSOR, ERROR, CONFIG),
            floor(OPEN_MPI, SPI, ERROR, CONFIG, LOG),
            floor(MPI, MPI_CALLS, OPEN_MPI, COLLECTIVE, KERNEL, BUFFER, NET, SPI, TENSOR, ERROR, CONFIG, LOG),
            floor(MPI + ".bindings", MPI_CALLS, TENSOR, ERROR, "mpi.*"),
            // where ranks without MPI meet, and the connections on which their data travels
            floor(RENDEZVOUS, NET, ERROR, LOG),
            // who is in which generation of an elastic job, and how its workers hear of it
            floor(ELASTIC, RENDEZVOUS, NET, ERROR, LOG),
            floor(TCP, RENDEZVOUS, KERNEL, BUFFER, NET, SPI, ERROR, CONFIG, FILE, LOG),
            // kernels and copies on the GPU, for the back ends that have tensors there
            floor(CUDA, KERNEL, SPI, TENSOR, BUFFER, ERROR, FILE, "jcuda.*", "org.bytedeco.javacpp.*"),
            // NCCL as it is installed
            floor(NCCL + ".natives", CUDA, SPI, TENSOR, ERROR, "org.bytedeco.cuda.*", "org.bytedeco.javacpp.*"),
            // what is there for tensors on GPUs, and what is missing
            floor(
                    NCCL_REPORT,
                    NCCL + ".natives",
                    CUDA,
                    SPI,
                    ERROR,
                    FILE,
                    "jcuda.*",
                    "org.bytedeco.cuda.*",
                    "org.bytedeco.javacpp.*"),
            // NCCL takes its control plane from another back end, through the SPI; no binding is imported here
            floor(NCCL, NCCL + ".natives", CUDA, KERNEL, BUFFER, NET, SPI, TENSOR, ERROR, CONFIG, LOG),
            // a back end of processes is composed of a transport, control sockets and shared memory
            floor(BACKEND, COLLECTIVE, CONTROL, SHM, SPI, CONFIG),
            // floor 3
            // what becomes of a rank whose job fails or ends
            floor(JOB + ".failure", TRACE, MONITOR + ".view", MONITOR, MPI, OPEN_MPI, NET, SPI, ERROR, CONFIG, LOG),
            // a job's inner life
            floor(
                    JOB,
                    JOB + ".failure",
                    BUFFER,
                    ENGINE + ".*",
                    TRACE,
                    MONITOR,
                    MONITOR + ".peers",
                    MONITOR + ".view",
                    TIMELINE,
                    LOCAL,
                    HYBRID,
                    BACKEND,
                    MPI,
                    OPEN_MPI,
                    TCP,
                    NCCL,
                    NET,
                    SPI,
                    TENSOR,
                    ERROR,
                    CONFIG,
                    LOG),
            // the API; what is installed it asks the back ends, and bytes that are to become objects it does not trust
            floor(
                    FACADE,
                    ELASTIC,
                    SIGNAL,
                    JOB,
                    JOB + ".failure",
                    KERNEL,
                    BUFFER,
                    ENGINE + ".*",
                    TIMELINE,
                    MPI,
                    NCCL,
                    TCP,
                    SPI,
                    NET,
                    TENSOR,
                    ERROR,
                    CONFIG,
                    LOG),
            // tests of users on several ranks
            floor(
                    "io.hvd.junit",
                    FACADE,
                    ELASTIC,
                    ERROR,
                    "org.junit.jupiter.api.*",
                    "org.junit.platform.commons.*",
                    "org.opentest4j"),
            // floor 4
            // the launcher: words, what is there, what is asked for, the line made of both, the running job and its end
            floor(LAUNCH + ".words"),
            floor(LAUNCH + ".mpi", LAUNCH + ".words"),
            floor(LAUNCH + ".jvm", LAUNCH + ".words", LAUNCH + ".mpi", ERROR),
            floor(LAUNCH + ".hosts", LAUNCH + ".words", LAUNCH + ".mpi", NET, FILE),
            floor(
                    LAUNCH + ".options",
                    LAUNCH + ".words",
                    LAUNCH + ".mpi",
                    LAUNCH + ".hosts",
                    NET,
                    ERROR,
                    CONFIG,
                    FILE,
                    "org.apache.commons.cli.*",
                    "org.snakeyaml.engine.*"),
            floor(
                    LAUNCH + ".line",
                    LAUNCH + ".words",
                    LAUNCH + ".mpi",
                    LAUNCH + ".jvm",
                    LAUNCH + ".hosts",
                    LAUNCH + ".options",
                    NET,
                    ERROR,
                    CONFIG),
            floor(
                    LAUNCH + ".archive",
                    LAUNCH + ".words",
                    LAUNCH + ".mpi",
                    LAUNCH + ".jvm",
                    LAUNCH + ".hosts",
                    LAUNCH + ".line",
                    CONFIG,
                    FILE),
            floor(LAUNCH + ".failure", LAUNCH + ".words", ERROR),
            floor(LAUNCH + ".process", LAUNCH + ".failure", LAUNCH + ".mpi", NET, ERROR),
            floor(
                    LAUNCH + ".direct",
                    LAUNCH + ".words",
                    LAUNCH + ".mpi",
                    LAUNCH + ".jvm",
                    LAUNCH + ".hosts",
                    LAUNCH + ".options",
                    LAUNCH + ".line",
                    LAUNCH + ".failure",
                    LAUNCH + ".process",
                    RENDEZVOUS,
                    ELASTIC,
                    NET,
                    ERROR,
                    CONFIG),
            floor(LAUNCH, LAUNCH + ".*", FACADE, ELASTIC, MPI, NCCL_REPORT, NET, ERROR, CONFIG),
            floor(
                    LAUNCH + ".setup",
                    LAUNCH + ".words",
                    LAUNCH + ".mpi",
                    LAUNCH + ".hosts",
                    MPI,
                    ERROR,
                    CONFIG,
                    FILE,
                    "org.apache.commons.cli.*"),
            // the doctor: ways between hosts, facts, how they are judged, and whom it asks
            floor(DOCTOR + ".network", NET),
            floor(
                    DOCTOR + ".facts",
                    DOCTOR + ".network",
                    LAUNCH + ".words",
                    LAUNCH + ".mpi",
                    LAUNCH + ".hosts",
                    MPI,
                    NCCL_REPORT,
                    NET,
                    ERROR,
                    CONFIG),
            floor(
                    DOCTOR + ".checks",
                    DOCTOR + ".network",
                    DOCTOR + ".facts",
                    LAUNCH + ".mpi",
                    NCCL_REPORT,
                    SHM,
                    CONFIG),
            floor(
                    DOCTOR + ".hosts",
                    DOCTOR + ".network",
                    DOCTOR + ".facts",
                    DOCTOR + ".checks",
                    LAUNCH + ".words",
                    LAUNCH + ".hosts",
                    CONFIG,
                    "com.google.gson"),
            floor(
                    DOCTOR,
                    DOCTOR + ".*",
                    LAUNCH,
                    LAUNCH + ".words",
                    LAUNCH + ".mpi",
                    LAUNCH + ".hosts",
                    FACADE,
                    NET,
                    TENSOR,
                    CONFIG,
                    "org.apache.commons.cli.*",
                    "com.google.gson.*"),
            // ranks as tasks of a cluster
            floor("io.hvd.spark.columns", TENSOR, ERROR, "org.apache.spark.*", "scala.*"),
            floor(
                    "io.hvd.spark",
                    "io.hvd.spark.columns",
                    "io.hvd.train",
                    "io.hvd.data",
                    "io.hvd.data.mapped",
                    FACADE,
                    ELASTIC,
                    NET,
                    CONFIG,
                    TENSOR,
                    ERROR,
                    LOG,
                    "org.apache.spark.*",
                    "scala.*"),
            // the live view
            floor("io.hvd.top", LAUNCH + ".process", CONFIG, FILE, "org.apache.commons.cli.*", "com.google.gson.*"),
            // pages of runs
            floor(
                    "io.hvd.report",
                    CONFIG,
                    FILE,
                    "org.apache.commons.cli.*",
                    "com.google.gson.*",
                    "com.sun.net.httpserver"),
            // the main class that names the programs
            floor(
                    "io.hvd.command",
                    LAUNCH,
                    LAUNCH + ".setup",
                    DOCTOR,
                    "io.hvd.top",
                    "io.hvd.report",
                    CONFIG,
                    "org.apache.commons.cli.*"),
            floor("io.hvd.data", ERROR, JFR, LOG),
            floor("io.hvd.data.cuda", "io.hvd.data", BUFFER, CUDA, TENSOR, ERROR),
            // one file per host, which one of its ranks builds
            floor("io.hvd.data.mapped", "io.hvd.data", BUFFER, FACADE, ERROR, FILE, LOG),
            floor("io.hvd.data.parquet", "io.hvd.data", ERROR, "org.apache.parquet.*", "org.apache.arrow.*"),
            floor(
                    "io.hvd.transformers",
                    FACADE,
                    "io.hvd.optimizer.torch",
                    "io.hvd.train",
                    TENSOR,
                    ERROR,
                    LOG,
                    "ai.djl.huggingface.*",
                    "com.google.gson.*",
                    "com.google.protobuf.*",
                    "org.bytedeco.*"),
            // what steps gradients, and what it is made of, from below: which LibTorch a process has, optimizers on
            // arrays,
            // arithmetic on gradients where they lie, what ranks agree on, the way of gradients, what guards a
            // training, a step
            floor("io.hvd.optimizer.libtorch", ERROR),
            floor("io.hvd.optimizer.arrays", OPTIMIZER, TENSOR, ERROR, LOG),
            floor("io.hvd.optimizer.gradients", OPTIMIZER, KERNEL, BUFFER, TENSOR, ERROR),
            floor("io.hvd.optimizer.agreement", OPTIMIZER, FACADE, TENSOR, ERROR, LOG),
            floor("io.hvd.optimizer.precision", OPTIMIZER, "io.hvd.optimizer.gradients", FACADE, TENSOR, ERROR, LOG),
            floor(
                    "io.hvd.optimizer.exchange",
                    OPTIMIZER,
                    "io.hvd.optimizer.precision",
                    "io.hvd.optimizer.agreement",
                    "io.hvd.optimizer.gradients",
                    "io.hvd.optimizer.reduce",
                    FACADE,
                    TENSOR,
                    ERROR,
                    JFR,
                    LOG),
            // parameters on GPUs are compared through pinned memory
            floor(
                    "io.hvd.optimizer.guard",
                    OPTIMIZER,
                    "io.hvd.optimizer.exchange",
                    "io.hvd.optimizer.precision",
                    "io.hvd.optimizer.agreement",
                    "io.hvd.optimizer.gradients",
                    KERNEL,
                    BUFFER,
                    KERNEL,
                    FACADE,
                    CUDA,
                    TENSOR,
                    ERROR,
                    LOG),
            floor(
                    "io.hvd.optimizer.step",
                    OPTIMIZER,
                    "io.hvd.optimizer.guard",
                    "io.hvd.optimizer.exchange",
                    "io.hvd.optimizer.precision",
                    "io.hvd.optimizer.agreement",
                    "io.hvd.optimizer.gradients",
                    "io.hvd.optimizer.reduce",
                    FACADE,
                    KERNEL,
                    TENSOR,
                    ERROR,
                    LOG),
            floor(
                    OPTIMIZER,
                    "io.hvd.optimizer.step",
                    "io.hvd.optimizer.guard",
                    "io.hvd.optimizer.exchange",
                    "io.hvd.optimizer.precision",
                    "io.hvd.optimizer.agreement",
                    "io.hvd.optimizer.gradients",
                    "io.hvd.optimizer.arrays",
                    "io.hvd.optimizer.reduce",
                    FACADE,
                    TENSOR,
                    ERROR,
                    LOG),
            // compressions, which know no optimizer
            floor("io.hvd.optimizer.reduce", FACADE, TENSOR, ERROR, LOG),
            // inside the seam to LibTorch, from the bottom up
            floor(
                    "io.hvd.optimizer.torch.memory",
                    TENSOR,
                    ERROR,
                    KERNEL,
                    "org.bytedeco.pytorch.*",
                    "org.bytedeco.javacpp.*"),
            floor(
                    "io.hvd.optimizer.torch.natives",
                    "io.hvd.optimizer",
                    "io.hvd.optimizer.libtorch",
                    // a stream beside LibTorch's
                    CUDA,
                    FACADE,
                    KERNEL,
                    TENSOR,
                    SPI,
                    ERROR,
                    CONFIG,
                    FILE,
                    LOG,
                    // the log of JavaCPP, from which a warning is kept back
                    "org.slf4j.*",
                    "org.bytedeco.pytorch.*",
                    "org.bytedeco.openblas.*",
                    "org.bytedeco.javacpp.*"),
            floor(
                    "io.hvd.optimizer.torch.parameter",
                    "io.hvd.optimizer",
                    "io.hvd.optimizer.torch.memory",
                    FACADE,
                    ERROR,
                    LOG,
                    "org.bytedeco.pytorch.*",
                    "org.bytedeco.javacpp.*"),
            floor(
                    "io.hvd.optimizer.torch.state",
                    "io.hvd.optimizer",
                    "io.hvd.optimizer.torch.memory",
                    "io.hvd.optimizer.torch.parameter",
                    TENSOR,
                    ERROR,
                    "org.bytedeco.pytorch.*",
                    "org.bytedeco.javacpp.*"),
            floor(
                    "io.hvd.optimizer.torch.graph",
                    "io.hvd.optimizer.torch.memory",
                    FACADE,
                    TENSOR,
                    ERROR,
                    "org.bytedeco.pytorch.*",
                    "org.bytedeco.javacpp.*"),
            floor(
                    "io.hvd.optimizer.torch.gradient",
                    "io.hvd.optimizer",
                    "io.hvd.optimizer.torch.graph",
                    "io.hvd.optimizer.torch.memory",
                    "io.hvd.optimizer.torch.parameter",
                    // a stream beside LibTorch's
                    CUDA,
                    FACADE,
                    TENSOR,
                    ERROR,
                    "org.bytedeco.pytorch.*",
                    "org.bytedeco.javacpp.*"),
            floor(
                    "io.hvd.optimizer.torch.module",
                    "io.hvd.optimizer.torch.memory",
                    "io.hvd.optimizer.torch.natives",
                    "io.hvd.optimizer.torch.parameter",
                    TENSOR,
                    ERROR,
                    "org.bytedeco.pytorch.*",
                    "org.bytedeco.javacpp.*"),
            floor(
                    "io.hvd.optimizer.torch.shard",
                    "io.hvd.optimizer",
                    "io.hvd.optimizer.torch.graph",
                    "io.hvd.optimizer.torch.memory",
                    "io.hvd.optimizer.torch.parameter",
                    "io.hvd.optimizer.torch.state",
                    FACADE,
                    TENSOR,
                    ERROR,
                    "org.bytedeco.pytorch.*",
                    "org.bytedeco.javacpp.*"),
            floor(
                    "io.hvd.optimizer.torch.norm",
                    "io.hvd.optimizer.torch.graph",
                    "io.hvd.optimizer.torch.memory",
                    FACADE,
                    TENSOR,
                    ERROR,
                    "org.bytedeco.pytorch.*",
                    "org.bytedeco.javacpp.*"),
            floor(
                    "io.hvd.optimizer.torch",
                    "io.hvd.optimizer",
                    "io.hvd.optimizer.torch.*",
                    CUDA,
                    // batches as LibTorch's tensors
                    "io.hvd.data",
                    "io.hvd.data.cuda",
                    FACADE,
                    TENSOR,
                    ERROR,
                    "org.bytedeco.pytorch.*",
                    "org.bytedeco.javacpp.*"),
            floor(
                    "io.hvd.optimizer.djl",
                    "io.hvd.optimizer",
                    "io.hvd.optimizer.libtorch",
                    // samplers, as DJL's
                    "io.hvd.data",
                    FACADE,
                    SPI,
                    TENSOR,
                    ERROR,
                    CONFIG,
                    FILE,
                    LOG,
                    "ai.djl.*"),
            floor(
                    // a series of checkpoints, from which a training goes on
                    "io.hvd.train.checkpoint",
                    "io.hvd.train",
                    "io.hvd.train.safetensors",
                    "io.hvd.train.loop",
                    BUFFER,
                    "io.hvd.optimizer",
                    "io.hvd.data",
                    FACADE,
                    KERNEL,
                    TENSOR,
                    ERROR,
                    FILE,
                    SIGNAL,
                    LOG),
            // the file of a checkpoint
            floor("io.hvd.train.safetensors", BUFFER, KERNEL, TENSOR, ERROR, FILE, LOG, "com.google.gson.*"),
            // what a loop counts and watches
            floor("io.hvd.train.loop", "io.hvd.optimizer", "io.hvd.data", FACADE, TENSOR, ERROR, LOG),
            // rates
            floor("io.hvd.train.schedule", FACADE, TENSOR, ERROR),
            floor(
                    "io.hvd.train",
                    "io.hvd.train.safetensors",
                    "io.hvd.train.loop",
                    "io.hvd.train.schedule",
                    BUFFER,
                    "io.hvd.optimizer",
                    "io.hvd.data",
                    FACADE,
                    KERNEL,
                    TENSOR,
                    ERROR,
                    CONFIG,
                    FILE,
                    LOG,
                    "com.google.gson.*"),
            // curves and the card of a run
            floor(
                    "io.hvd.train.log",
                    "io.hvd.train",
                    "io.hvd.optimizer",
                    FACADE,
                    ERROR,
                    CONFIG,
                    FILE,
                    LOG,
                    "com.google.gson.*"),
            floor(
                    "io.hvd.examples.*",
                    "io.hvd.optimizer",
                    "io.hvd.optimizer.reduce",
                    "io.hvd.optimizer.torch",
                    "io.hvd.optimizer.djl",
                    "io.hvd.data.*",
                    "io.hvd.train.*",
                    "io.hvd.transformers",
                    FACADE,
                    KERNEL,
                    TENSOR,
                    ERROR,
                    CONFIG,
                    FILE,
                    LOG,
                    "com.google.gson.*",
                    "org.apache.commons.cli.*",
                    "org.bytedeco.pytorch.*",
                    "org.bytedeco.javacpp.*",
                    "me.tongfei.progressbar.*",
                    "com.google.gson.*",
                    "ai.djl.*",
                    "javax.imageio.*",
                    // gpu-check looks at the kernels themselves, and shows the table of versions
                    CUDA,
                    NCCL_REPORT,
                    // the examples are users' programs: one on CUDA brings memory of its own
                    "jcuda.*"),
            // time floors of their own, beside what others have
            floor(
                    "io.hvd.benchmarks.*",
                    "io.hvd.benchmarks.*",
                    "io.hvd.examples",
                    "io.hvd.examples.image",
                    "io.hvd.examples.training",
                    "io.hvd.optimizer",
                    "io.hvd.optimizer.torch",
                    // what adds where LibTorch is loaded
                    "io.hvd.optimizer.torch.natives",
                    FACADE,
                    BACKEND,
                    KERNEL,
                    MPI,
                    TCP,
                    SHM,
                    NET,
                    SPI,
                    TENSOR,
                    ERROR,
                    CONFIG,
                    "com.sun.management",
                    "org.apache.commons.cli.*",
                    "org.bytedeco.pytorch.*",
                    "org.bytedeco.openblas.*",
                    "org.bytedeco.javacpp.*",
                    "org.openjdk.jmh.*",
                    "org.knowm.xchart.*"),
            // what allreduces cost: pure, but for its file
            floor("io.hvd.benchmarks.cost", ERROR, FILE, "com.google.gson.*"),
            // the opponent
            floor("io.hvd.benchmarks.mpi", "io.hvd.benchmarks.*", "mpi.*"));

    private static final List<String> NOT_IN_CORE = List.of(
            "io.hvd.launch.*",
            "io.hvd.doctor.*",
            "io.hvd.command.*",
            "io.hvd.top.*",
            "io.hvd.report.*",
            "io.hvd.optimizer.*",
            "io.hvd.data.*",
            "io.hvd.train.*",
            "io.hvd.examples.*",
            "io.hvd.benchmarks.*",
            "org.apache.commons.*",
            "com.google.gson.*",
            "org.snakeyaml.*",
            "me.tongfei.*",
            "org.bytedeco.pytorch.*",
            "ai.djl.*");

    private record Floor(String packages, List<String> mayUse) {
        boolean holds(String packageName) {
            return covers(packages, packageName);
        }

        boolean allows(String used) {
            return covers(packages, used) || mayUse.stream().anyMatch(pattern -> covers(pattern, used));
        }
    }

    private static Floor floor(String packages, String... mayUse) {
        return new Floor(packages, List.of(mayUse));
    }

    private static boolean covers(String pattern, String packageName) {
        if (!pattern.endsWith(".*")) {
            return pattern.equals(packageName);
        }
        String root = pattern.substring(0, pattern.length() - 2);
        return packageName.equals(root) || packageName.startsWith(root + ".");
    }

    private static final Pattern PACKAGE = Pattern.compile("^package ([\\w.]+);");
    private static final Pattern IMPORT = Pattern.compile("^import (?:static )?([\\w.]+)(?:\\.\\*)?;");
    /** A class named in full; its root tells it from a field of a variable. */
    private static final Pattern WRITTEN_OUT =
            Pattern.compile("(?<![\\w.\"])((?:io\\.hvd|org|com|ai|me|mpi|jcuda)(?:\\.[a-z]\\w*)*)\\.[A-Z]\\w*");

    /** Every use that the table does not allow, with file and line. */
    private static List<String> violations(String file, List<String> lines) {
        String own = lines.stream()
                .map(PACKAGE::matcher)
                .filter(Matcher::find)
                .map(found -> found.group(1))
                .findFirst()
                .orElse("");
        Optional<Floor> floor = FLOORS.stream()
                .filter(candidate -> candidate.holds(own))
                .max(Comparator.comparingInt(candidate -> candidate.packages().length()));
        if (floor.isEmpty()) {
            return List.of(file + ": package \"" + own + "\" stands on no floor; give it a row in this test's table");
        }
        List<String> violations = new ArrayList<>();
        for (int i = 0; i < lines.size(); i++) {
            for (String used : packagesUsedIn(lines.get(i))) {
                if (!used.startsWith("java.")
                        && !used.equals(own)
                        && !floor.get().allows(used)) {
                    violations.add(file + ":" + (i + 1) + ": " + own + " must not use " + used);
                }
            }
        }
        return violations;
    }

    private static List<String> packagesUsedIn(String line) {
        Matcher imported = IMPORT.matcher(line);
        if (imported.find()) {
            return List.of(imported.group(1).replaceAll("\\.[A-Z].*", ""));
        }
        String code = line.strip();
        if (code.startsWith("*") || code.startsWith("/*") || code.startsWith("package ")) {
            return List.of();
        }
        String bare = code.replaceAll("\"(?:[^\"\\\\]|\\\\.)*\"", "\"\"").replaceAll("//.*", "");
        return WRITTEN_OUT.matcher(bare).results().map(found -> found.group(1)).toList();
    }

    private static List<String> read(Path file) {
        try {
            return Files.readAllLines(file);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Test
    void importsGoDownOnly() {
        List<Path> sources = Modules.sources("src/main/java");
        Path top = Path.of("..");
        assertThat(sources)
                .as("sources of more than one module")
                .anyMatch(file -> file.endsWith("io/hvd/engine/Engine.java"))
                .anyMatch(file -> file.endsWith("io/hvd/optimizer/Optimizer.java"))
                .anyMatch(file -> file.endsWith("io/hvd/launch/Horovodrun.java"))
                .anyMatch(file -> file.endsWith("io/hvd/benchmarks/cost/CostModel.java"));
        List<String> violations = sources.stream()
                .filter(file -> !file.endsWith("module-info.java"))
                .flatMap(file -> violations(top.relativize(file).toString(), read(file)).stream())
                .toList();
        assertThat(violations).isEmpty();
    }

    /** What goes around hvd's logger goes around the level that the user has set. */
    @Test
    void onlyHvdsLoggerAsksSlf4jForALogger() {
        assertThat(Modules.sources("src/main/java").stream()
                        .filter(file -> read(file).stream().anyMatch(line -> line.contains("LoggerFactory")))
                        .map(file -> file.getFileName().toString()))
                .as("OpenBlasRemark asks for JavaCPP's")
                .containsExactlyInAnyOrder("HvdLogger.java", "OpenBlasRemark.java");
    }

    /** The table goes by packages; hvd-core as a whole has neither the programs around it nor their libraries. */
    @Test
    void hvdCoreKnowsNoLauncherAndNoLibraryOfTheProgramsAroundIt() {
        List<Path> sources = Modules.sources("src/main/java").stream()
                .filter(file -> file.startsWith("../hvd-core"))
                .toList();

        assertThat(sources).hasSizeGreaterThan(200);
        for (Path source : sources) {
            assertThat(read(source).stream().flatMap(line -> packagesUsedIn(line).stream()))
                    .as(source.toString())
                    .noneMatch(used -> NOT_IN_CORE.stream().anyMatch(pattern -> covers(pattern, used)));
        }
    }

    @Test
    void aForbiddenImportIsNamedWithFileAndLine() {
        assertThat(violations(
                        "Engine.java",
                        List.of(
                                "package io.hvd.engine;",
                                "import io.hvd.host.local.LocalProvider;",
                                "import io.hvd.spi.Backend;",
                                "import java.util.List;")))
                .containsExactly("Engine.java:2: io.hvd.engine must not use io.hvd.host.local");
    }

    @Test
    void aNameWrittenOutInFullCountsAsAnImport() {
        assertThat(violations(
                        "Shape.java",
                        List.of(
                                "package io.hvd.tensor;",
                                "/** See org.bytedeco.pytorch.Tensor. */",
                                "    String text = \"mpi.MPI\"; // jcuda.Pointer",
                                "    org.bytedeco.pytorch.Tensor tensor;")))
                .containsExactly("Shape.java:4: io.hvd.tensor must not use org.bytedeco.pytorch");
    }

    @Test
    void staticAndWildcardImportsCountToo() {
        assertThat(violations("A.java", List.of("package io.hvd.data;", "import static io.hvd.Hvd.rank;")))
                .containsExactly("A.java:2: io.hvd.data must not use io.hvd");
        assertThat(violations("A.java", List.of("package io.hvd.transport.mpi;", "import mpi.*;")))
                .containsExactly("A.java:2: io.hvd.transport.mpi must not use mpi");
    }

    @Test
    void librariesStayInTheirPackages() {
        assertThat(violations("A.java", List.of("package io.hvd.transport.mpi.bindings;", "import mpi.MPI;")))
                .isEmpty();
        for (String other : List.of("io.hvd", "io.hvd.engine", "io.hvd.transport.nccl", "io.hvd.optimizer.torch")) {
            assertThat(violations("A.java", List.of("package " + other + ";", "import mpi.MPI;")))
                    .hasSize(1);
        }
        for (String other : List.of("io.hvd", "io.hvd.optimizer", "io.hvd.train", "io.hvd.data")) {
            assertThat(violations("A.java", List.of("package " + other + ";", "import org.bytedeco.pytorch.Tensor;")))
                    .hasSize(1);
        }
        for (String other : List.of("io.hvd", "io.hvd.optimizer.torch", "io.hvd.transport.mpi")) {
            assertThat(violations(
                            "A.java",
                            List.of(
                                    "package " + other + ";",
                                    "import jcuda.Pointer;",
                                    "import org.bytedeco.cuda.nccl.ncclComm;")))
                    .hasSize(2);
        }
    }

    @Test
    void aPackageWithoutAFloorIsReported() {
        assertThat(violations("New.java", List.of("package io.hvd.fresh;")))
                .singleElement()
                .asString()
                .contains("New.java", "io.hvd.fresh");
    }
}
