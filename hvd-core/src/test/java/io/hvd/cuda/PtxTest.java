package io.hvd.cuda;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.testing.CudaCode;
import io.hvd.testing.Job;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The PTX in the jar: that it is what the sources and the Java side take it for. */
class PtxTest {
    private static final Path SOURCES = Path.of("src/main/cuda");
    private static final Path SCRIPT = Path.of("../mpirun-scripts/kernels.sh");

    @TempDir
    Path folder;

    private final String ptx = SegmentKernels.ptx();

    @Test
    void itHasEveryEntryPointThatAConversionCanAskForAndNoOther() {
        List<String> entries = Pattern.compile("^\\.visible \\.entry (\\w+)\\($", Pattern.MULTILINE)
                .matcher(ptx)
                .results()
                .map(found -> found.group(1))
                .toList();
        assertThat(entries)
                .hasSize(22)
                .containsExactlyInAnyOrderElementsOf(
                        Kernel.all().stream().map(Kernel::entry).toList());
    }

    @Test
    void itNeedsTheDriverAndTheGpuThatAreAskedFor() {
        Matcher stated = Pattern.compile("GPUs from sm_(\\d+) on, drivers from CUDA (\\d+)\\.(\\d+) on")
                .matcher(ptx);
        assertThat(stated.find()).isTrue();
        assertThat(Integer.parseInt(stated.group(2)) * 1000 + Integer.parseInt(stated.group(3)) * 10)
                .isEqualTo(SegmentKernels.OLDEST_DRIVER);
        assertThat(Integer.parseInt(stated.group(1))).isEqualTo(SegmentKernels.OLDEST_CAPABILITY);
        assertThat(ptx).contains("\n.version 6.3\n", "\n.target sm_" + SegmentKernels.OLDEST_CAPABILITY + "\n");
    }

    @Test
    void itIsMadeOfTheCodeAsItIsWithTheScriptsOptions() throws Exception {
        assertThat(ptx.substring(0, ptx.indexOf(".version")))
                .as("after a change of src/main/cuda or of the options run mpirun-scripts/kernels.sh")
                .contains(CudaCode.digestLine(SOURCES, "numbers.cuh", "segments.cu"))
                .contains(CudaCode.optionsLine("segments"));
    }

    @Test
    void commentsDoNotCountAsCodeAndEverythingElseDoes(@TempDir Path other) throws Exception {
        String kernel = Files.readString(SOURCES.resolve("segments.cu"));
        Files.writeString(other.resolve("segments.cu"), "// new\n/* and\n * new */\n" + kernel + "\n");
        String asItIs = CudaCode.digestLine(SOURCES, "segments.cu");
        assertThat(CudaCode.digestLine(other, "segments.cu")).isEqualTo(asItIs);

        Files.writeString(other.resolve("segments.cu"), kernel.replace("THREADS = 256", "THREADS = 128"));
        assertThat(CudaCode.digestLine(other, "segments.cu")).isNotEqualTo(asItIs);
    }

    @Test
    void itMultipliesAndAddsOneAfterTheOtherAndKeepsSubnormals() {
        assertThat(ptx)
                .contains("mul.rn.f32", "add.rn.f32")
                .doesNotContain("fma.", "mad.f", ".ftz")
                // without .rn the driver's compiler may join them
                .doesNotContain("mul.f", "add.f");
    }

    @Test
    void itMovesVectorsOfSixteenBytes() {
        assertThat(entry("hvd_float32_to_float16")).contains("ld.global.v4.u32", "st.global.wb.v2.u32");
        assertThat(entry("hvd_float16_to_float32")).contains("ld.global.v2.u32", "st.global.wb.v4.u32");
        assertThat(entry("hvd_float64_to_float64")).contains("ld.global.v2.u64", "st.global.wb.v4.u32");
        for (int bytes : new int[] {1, 2, 4, 8}) {
            assertThat(entry("hvd_copy_" + bytes)).contains("ld.global.v4.u32", "st.global.wb.v4.u32");
        }
    }

    /** The script also compiles the PTX for GPUs from sm_75 to sm_120, and fails where that does. */
    @Test
    void theScriptCompilesForEveryGpuAndWithTheSameCompilerMakesThisVeryFile() throws Exception {
        String made = Pattern.compile("^// nvcc ([\\d.]+);", Pattern.MULTILINE)
                .matcher(ptx)
                .results()
                .map((MatchResult found) -> found.group(1))
                .findFirst()
                .orElseThrow();
        Job nvcc = Job.run(List.of("sh", "-c", "command -v ptxas && nvcc --version"), Map.of());
        Assumptions.assumeTrue(nvcc.output().contains("release 13."), "no nvcc and ptxas of CUDA 13 on the PATH");

        Job script = Job.run(List.of(SCRIPT.toString(), folder.toString(), "segments"), Map.of());

        assertThat(script.exitCode()).as(script.output()).isZero();
        Assumptions.assumeTrue(
                nvcc.output().contains("V" + made + "\n"),
                "it compiles, but nvcc is not " + made + " to compare bytes");
        assertThat(Files.readString(folder.resolve("segments.ptx")).equals(ptx))
                .as("the script's result is that of the repository")
                .isTrue();
    }

    private String entry(String name) {
        int start = ptx.indexOf(".entry " + name + "(");
        int end = ptx.indexOf(".entry ", start + 1);
        return ptx.substring(start, end < 0 ? ptx.length() : end);
    }
}
