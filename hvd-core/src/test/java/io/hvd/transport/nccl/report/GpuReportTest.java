package io.hvd.transport.nccl.report;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import io.hvd.cuda.CudaVersions;
import io.hvd.spi.GpuDriver.Gpu;
import io.hvd.transport.nccl.report.GpuFacts.Card;
import io.hvd.transport.nccl.report.GpuFacts.Library;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledIf;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The table of versions: of made-up machines, and of this one. */
class GpuReportTest {
    private static final String MODULE =
            "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.14  Thu Feb 22 01:44:30 UTC 2024";
    private static final BindingVersions BINDINGS = new BindingVersions("12.6.0", "13.3-9.25-1.5.14");
    private static final Library DRIVER = new Library(13000, "/usr/lib/libcuda.so.580.65.06", "");
    private static final Library RUNTIME = new Library(13010, "/opt/cuda/lib64/libcudart.so.13", "");
    private static final Library NCCL = new Library(22803, "/opt/nccl/lib/libnccl.so.2", "");
    private static final Card FIRST = new Card(new Gpu(0, "Card A", "0000:01:00.0"), 90, 80L << 30, "");
    private static final Card SECOND = new Card(new Gpu(1, "Card B", "0000:65:00.0"), 0, 0, "cuInit failed: 999");

    static boolean driverIsLoaded() {
        return Files.exists(Path.of("/dev/nvidiactl"));
    }

    private static GpuFacts facts(Library driver, List<Card> gpus, Library nccl) {
        return new GpuFacts(MODULE, driver, gpus, gpus.isEmpty() ? "none visible" : "", RUNTIME, nccl, BINDINGS, "1,0");
    }

    @Test
    void aMachineWithEverythingHasItsVersionsPathsAndGpusInOneAlignedTable() {
        GpuReport report = GpuReport.of(facts(DRIVER, List.of(FIRST, SECOND), NCCL));

        assertThat(report.text()).isEqualTo("""
                        NVIDIA driver         550.54.14
                        CUDA driver           for CUDA 13.0, /usr/lib/libcuda.so.580.65.06
                        CUDA runtime          13.1, /opt/cuda/lib64/libcudart.so.13
                        NCCL                  2.28.3, /opt/nccl/lib/libnccl.so.2
                        JCuda                 12.6.0
                        JavaCPP cuda          13.3-9.25-1.5.14
                        GPU 0                 Card A, 0000:01:00.0, compute capability 9.0, 80.0 GiB
                        GPU 1                 Card B, 0000:65:00.0, capability and memory unknown: cuInit failed: 999
                        hvd's kernels need    driver for CUDA 10.0, compute capability 7.5, or newer
                        CUDA_VISIBLE_DEVICES  "1,0"
                        """);
        assertThat(report.gpus()).isEqualTo(2);
        assertThat(report.nccl()).isEqualTo(22803);
        assertThat(report.obstacle()).isEmpty();
    }

    @Test
    void aMachineWithNothingHasTheReasonInEveryRow() {
        GpuReport report = GpuReport.of(new GpuFacts(
                "",
                Library.missing("no driver"),
                List.of(),
                "no driver",
                Library.missing("no runtime"),
                Library.missing("no NCCL"),
                new BindingVersions("", ""),
                null));

        assertThat(report.text()).isEqualTo("""
                        NVIDIA driver         missing: there is no /proc/driver/nvidia/version
                        CUDA driver           missing: no driver
                        CUDA runtime          missing: no runtime
                        NCCL                  missing: no NCCL
                        JCuda                 missing: not on the class path
                        JavaCPP cuda          missing: not on the class path
                        GPU                   missing: no driver
                        hvd's kernels need    driver for CUDA 10.0, compute capability 7.5, or newer
                        CUDA_VISIBLE_DEVICES  not set
                        """);
        assertThat(report.nccl()).isZero();
        assertThat(report.obstacle()).isEqualTo("no GPU: no driver");
    }

    @Test
    void aGpuWithoutNcclHasTheReasonAsItsObstacle() {
        GpuReport report = GpuReport.of(facts(DRIVER, List.of(FIRST), Library.missing("libnccl.so.2 was not found")));

        assertThat(report.obstacle()).isEqualTo("libnccl.so.2 was not found");
        assertThat(report.nccl()).isZero();
        assertThat(report.gpus()).isEqualTo(1);
    }

    @Test
    void whatIsTooOldForTheKernelsIsNamed() {
        Card old = new Card(new Gpu(0, "Old", "0000:01:00.0"), 70, 16L << 30, "");
        Library oldDriver = new Library(9020, "", "");

        assertThat(GpuReport.of(facts(DRIVER, List.of(FIRST, old), NCCL)).text())
                .contains("but GPU 0 has 7.0");
        assertThat(GpuReport.of(facts(oldDriver, List.of(FIRST), NCCL)).text())
                .contains("but the driver is for CUDA 9.2");
    }

    /** Else the table shows three versions, each of them new enough, and a job that cannot start. */
    @Test
    void aDriverThatIsTooOldForTheRuntimeIsNamedInTheRuntimesRow() {
        Library oldDriver = new Library(12040, "/usr/lib/libcuda.so.550.54.14", "");

        GpuReport.Row row =
                GpuReport.of(facts(oldDriver, List.of(FIRST), NCCL)).rows().get(2);

        assertThat(row.item()).isEqualTo("CUDA runtime");
        assertThat(row.found()).isEmpty();
        assertThat(row.missing())
                .contains(
                        "13.1, /opt/cuda/lib64/libcudart.so.13",
                        "an NVIDIA driver for CUDA 13 (580)",
                        "is for CUDA 12.4");
    }

    @ParameterizedTest
    @CsvSource({
        "13000, 13010, true",
        "13010, 13000, true",
        "14000, 13000, true",
        "12090, 13000, false",
        "0, 13000, false"
    })
    void aDriverCarriesEveryRuntimeOfItsMajorVersionAndOlderOnes(int driver, int runtime, boolean carries) {
        assertThat(new CudaVersions(driver, runtime).obstacle().isEmpty()).isEqualTo(carries);
    }

    @ParameterizedTest
    @CsvSource({
        "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.14  Thu Feb 22, 550.54.14",
        "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build, 580.65.06",
        "something else, something else"
    })
    void theKernelModulesVersionIsReadFromWhatItSaysOfItself(String line, String version) {
        GpuFacts facts = new GpuFacts(line, DRIVER, List.of(FIRST), "", RUNTIME, NCCL, BINDINGS, null);

        assertThat(GpuReport.of(facts).rows().get(0)).isEqualTo(new GpuReport.Row("NVIDIA driver", version, ""));
    }

    @Test
    void jsonHasTheSameRows() {
        GpuReport report =
                GpuReport.of(facts(DRIVER, List.of(FIRST), Library.missing("a \"quoted\"\n\\ reason\u00e9")));

        JsonObject json = JsonParser.parseString(report.json()).getAsJsonObject();
        assertThat(json.get("gpus").getAsInt()).isEqualTo(1);
        assertThat(json.get("nccl").getAsInt()).isZero();
        assertThat(json.get("obstacle").getAsString()).isEqualTo("a \"quoted\"\n\\ reason\u00e9");
        assertThat(json.getAsJsonArray("rows")).hasSameSizeAs(report.rows());
        assertThat(json.getAsJsonArray("rows")
                        .get(2)
                        .getAsJsonObject()
                        .get("found")
                        .getAsString())
                .startsWith("13.1, ");
        JsonObject nccl = json.getAsJsonArray("rows").get(3).getAsJsonObject();
        assertThat(nccl.get("missing").getAsString()).isEqualTo("a \"quoted\"\n\\ reason\u00e9");
        assertThat(nccl.has("found")).isFalse();
    }

    /** What is read without CUDA must leave the JVM able to say the same again, and to go on. */
    @Test
    @DisabledIf("driverIsLoaded")
    void thisMachineWithoutADriverSaysSoTwice() {
        GpuReport report = GpuReport.ofThisProcess();

        assertThat(report.obstacle()).startsWith("no GPU: no NVIDIA driver is loaded");
        assertThat(GpuReport.ofThisProcess()).isEqualTo(report);
        assertThat(report.rows())
                .filteredOn(row ->
                        List.of("CUDA driver", "CUDA runtime", "NCCL", "GPU").contains(row.item()))
                .hasSize(4)
                .allSatisfy(row -> assertThat(row.missing()).isNotBlank());
        assertThat(report.text()).contains("\nJCuda                 12.6");
    }

    @Test
    void readingAVersionWithoutTheLibraryIsAReasonTheFirstTimeAndTheSecond() {
        for (int time = 0; time < 2; time++) {
            assertThat(GpuFacts.read(() -> {
                        throw new UnsatisfiedLinkError("libcuda.so.1: cannot open shared object file");
                    }))
                    .isEqualTo(Library.missing(
                            "java.lang.UnsatisfiedLinkError: libcuda.so.1: cannot open shared object file"));
        }
    }

    @Test
    void theRuntimeThatFailedAlongWithNcclHasTheFirstReason() {
        Library second = Library.missing("NoClassDefFoundError");

        assertThat(GpuFacts.runtime("libcudart.so.13 was not found", () -> second))
                .isEqualTo(Library.missing("libcudart.so.13 was not found"));
        assertThat(GpuFacts.runtime("", () -> second)).isEqualTo(second);
        assertThat(GpuFacts.runtime("libnccl.so.2 was not found", () -> RUNTIME))
                .isEqualTo(RUNTIME);
    }

    /** Asks JCuda and JavaCPP themselves, as on a machine whose driver is there but cannot be used. */
    @Test
    @DisabledIf("driverIsLoaded")
    void theLibrariesThemselvesGiveAReasonWhereTheyCannotBeUsedAndHarmNothing() {
        for (int time = 0; time < 2; time++) {
            assertThat(GpuFacts.read(DriverFacts::version).missing()).isNotBlank();
            assertThat(GpuFacts.read(LoadedLibraries::runtime).version()).isGreaterThanOrEqualTo(0);
        }
    }

    @Test
    void bindingsThatAreNotOnTheClassPathHaveNoVersion() throws Exception {
        try (URLClassLoader empty = new URLClassLoader(new URL[0], ClassLoader.getPlatformClassLoader())) {
            assertThat(BindingVersions.ofClassPath(empty)).isEqualTo(new BindingVersions("", ""));
        }
    }

    @Test
    void thePathOfALibraryIsTheOneThatTheKernelHasMapped() {
        List<String> maps = List.of(
                "7f00-7f01 r-xp 00000000 08:01 12  /opt/libnccl.so.d/libother.so",
                "7f02-7f03 r-xp 00000000 00:00 0 ",
                "7f04-7f05 r-xp 00000000 08:01 13  /opt/with space/libnccl.so.2.28.3");

        assertThat(LoadedLibraries.path("libnccl.so", maps)).isEqualTo("/opt/with space/libnccl.so.2.28.3");
        assertThat(LoadedLibraries.path("libcudart.so", maps)).isEmpty();
        assertThat(LoadedLibraries.path("libjvm.so")).endsWith("/libjvm.so");
    }
}
