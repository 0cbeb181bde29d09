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
    private static final String MEMORY = "io.hvd.host.memory";
    private static final String SHM = "io.hvd.host.shm";
    private static final String LOCAL = "io.hvd.host.local";
    private static final String HYBRID = "io.hvd.host.hybrid";
    private static final String MPI = "io.hvd.transport.mpi";
    private static final String OPEN_MPI = "io.hvd.transport.mpi.openmpi";
    private static final String CUDA = "io.hvd.cuda";
    private static final String NCCL = "io.hvd.transport.nccl";
    private static final String JOB = "io.hvd.job";
    private static final String FACADE = "io.hvd";
    /** hvd's log alone knows SLF4J. */
    private static final String LOG = "io.hvd.log";
    /** Events for recordings of JDK Flight Recorder; a module of the JDK. */
    private static final String JFR = "jdk.jfr";

    /** What each package may use besides itself and the JDK; {@code .*} stands for everything below a name. */
    private static final List<Floor> FLOORS = List.of(
            // floor 0: values
            floor(ERROR),
            floor(LOG, "org.slf4j.*"),
            // the record of memory outside the heap, for everybody who makes some
            floor(BUFFER, ERROR),
            floor(TENSOR, BUFFER, ERROR),
            // conversions and sums, for everybody who moves elements
            floor(KERNEL, TENSOR, BUFFER, ERROR),
            // control messages, and the connections on which they travel
            floor(NET, ERROR),
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
            floor(ENGINE, TRACE, NET, SPI, TENSOR, ERROR, CONFIG, LOG),
            // the monitor, from what a rank says of itself up to the thread that watches
            floor(MONITOR + ".view", TRACE, SPI),
            floor(MONITOR + ".diagnosis", MONITOR + ".view", SPI),
            floor(MONITOR + ".hang", MONITOR + ".diagnosis", MONITOR + ".view"),
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
            floor(HYBRID, KERNEL, COLLECTIVE, LOCAL, BUFFER, MEMORY, NET, SPI, TENSOR, ERROR, CONFIG, LOG),
            floor("io.hvd.host.shm.*", MEMORY, BUFFER, SPI, TENSOR, ERROR, CONFIG, FILE, LOG),
            floor(OPEN_MPI, SPI, ERROR, CONFIG, LOG),
            floor(MPI, COLLECTIVE, KERNEL, BUFFER, NET, SPI, TENSOR, ERROR, CONFIG, LOG),
            floor(
                    MPI + ".bindings",
                    MPI,
                    COLLECTIVE,
                    CONTROL,
                    KERNEL,
                    BUFFER,
                    NET,
                    SPI,
                    TENSOR,
                    ERROR,
                    CONFIG,
                    LOG,
                    "mpi.*"),
            // kernels and copies on the GPU, for the back ends that have tensors there
            floor(CUDA, KERNEL, TENSOR, BUFFER, ERROR, FILE, "jcuda.*", "org.bytedeco.javacpp.*"),
            // NCCL takes its control plane from another back end, through the SPI
            floor(
                    NCCL + ".*",
                    KERNEL,
                    BUFFER,
                    CUDA,
                    NET,
                    SPI,
                    TENSOR,
                    ERROR,
                    CONFIG,
                    FILE,
                    LOG,
                    "jcuda.*",
                    "org.bytedeco.cuda.*",
                    "org.bytedeco.javacpp.*"),
            // floor 3
            // a job's inner life
            floor(
                    JOB,
                    BUFFER,
                    ENGINE,
                    TRACE,
                    MONITOR,
                    MONITOR + ".peers",
                    MONITOR + ".view",
                    TIMELINE,
                    LOCAL,
                    HYBRID,
                    MPI,
                    NCCL,
                    "io.hvd.host.shm",
                    NET,
                    SPI,
                    TENSOR,
                    ERROR,
                    CONFIG,
                    LOG),
            // the API; what is installed it asks the back ends, and bytes that are to become objects it does not trust
            floor(FACADE, JOB, BUFFER, ENGINE, TIMELINE, MPI, NCCL, SPI, NET, TENSOR, ERROR, CONFIG, LOG),
            // tests of users on several ranks
            floor(
                    "io.hvd.junit",
                    FACADE,
                    ERROR,
                    "org.junit.jupiter.api.*",
                    "org.junit.platform.commons.*",
                    "org.opentest4j"),
            // floor 4
            floor(
                    "io.hvd.launch.*",
                    FACADE,
                    MPI,
                    NCCL,
                    NET,
                    ERROR,
                    CONFIG,
                    FILE,
                    "org.apache.commons.cli.*",
                    "org.snakeyaml.engine.*"),
            floor(
                    "io.hvd.doctor",
                    "io.hvd.launch",
                    FACADE,
                    MPI,
                    NCCL,
                    "io.hvd.host.shm",
                    NET,
                    SPI,
                    TENSOR,
                    ERROR,
                    CONFIG,
                    "org.apache.commons.cli.*",
                    "com.google.gson.*"),
            // the live view
            floor("io.hvd.top", "io.hvd.launch", CONFIG, FILE, "org.apache.commons.cli.*", "com.google.gson.*"),
            // pages of runs
            floor(
                    "io.hvd.report",
                    "io.hvd.launch",
                    CONFIG,
                    FILE,
                    "org.apache.commons.cli.*",
                    "com.google.gson.*",
                    "com.sun.net.httpserver"),
            // the main class that names the programs
            floor(
                    "io.hvd.command",
                    "io.hvd.launch",
                    "io.hvd.launch.setup",
                    "io.hvd.doctor",
                    "io.hvd.top",
                    "io.hvd.report",
                    CONFIG,
                    "org.apache.commons.cli.*"),
            floor("io.hvd.data", ERROR, JFR, LOG),
            floor("io.hvd.data.cuda", "io.hvd.data", BUFFER, CUDA, TENSOR, ERROR),
            // one file per host, which one of its ranks builds
            floor("io.hvd.data.mapped", "io.hvd.data", BUFFER, FACADE, ERROR, FILE, LOG),
            // parameters on GPUs are compared through pinned memory
            floor(
                    "io.hvd.optimizer",
                    "io.hvd.optimizer.reduce",
                    BUFFER,
                    FACADE,
                    SPI,
                    CUDA,
                    TENSOR,
                    ERROR,
                    CONFIG,
                    JFR,
                    LOG),
            // compressions, which know no optimizer
            floor("io.hvd.optimizer.reduce", FACADE, TENSOR, ERROR, LOG),
            floor(
                    "io.hvd.optimizer.torch",
                    "io.hvd.optimizer",
                    // a stream beside LibTorch's
                    CUDA,
                    // batches as LibTorch's tensors
                    "io.hvd.data",
                    "io.hvd.data.cuda",
                    FACADE,
                    SPI,
                    TENSOR,
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
                    "io.hvd.optimizer.djl",
                    "io.hvd.optimizer",
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
                    BUFFER,
                    "io.hvd.optimizer",
                    "io.hvd.data",
                    FACADE,
                    TENSOR,
                    ERROR,
                    FILE,
                    LOG),
            floor(
                    "io.hvd.train",
                    BUFFER,
                    "io.hvd.optimizer",
                    "io.hvd.data",
                    FACADE,
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
                    FACADE,
                    TENSOR,
                    ERROR,
                    CONFIG,
                    FILE,
                    LOG,
                    "org.apache.commons.cli.*",
                    "org.bytedeco.pytorch.*",
                    "org.bytedeco.javacpp.*",
                    "me.tongfei.progressbar.*",
                    "com.google.gson.*",
                    "ai.djl.*",
                    "javax.imageio.*",
                    // gpu-check looks at the kernels themselves, and shows the table of versions
                    CUDA,
                    NCCL,
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
                    FACADE,
                    MPI,
                    "io.hvd.host.shm",
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
