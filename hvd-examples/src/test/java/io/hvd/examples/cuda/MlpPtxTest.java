package io.hvd.examples.cuda;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.testing.CudaCode;
import io.hvd.testing.Job;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The PTX in train.jar is made of the source as it is. */
class MlpPtxTest {
    private static final Path SCRIPT = Path.of("../mpirun-scripts/kernels.sh");

    private final String ptx = MlpKernels.ptx();

    @Test
    void itIsMadeOfTheCodeAsItIsWithTheScriptsOptions() throws Exception {
        assertThat(ptx.substring(0, ptx.indexOf(".version")))
                .as("after a change of src/main/cuda or of the options run mpirun-scripts/kernels.sh")
                .contains(CudaCode.digestLine(MlpKernelsTest.KERNELS.source().getParent(), "mlp.cu"))
                .contains(CudaCode.optionsLine("mlp"));
    }

    @Test
    void itRunsWhereHvdsOwnKernelsDo() {
        assertThat(ptx)
                .contains("GPUs from sm_75 on, drivers from CUDA 10.0 on", "\n.version 6.3\n", "\n.target sm_75\n");
    }

    @Test
    void theScriptCompilesItAndWithTheSameCompilerMakesThisVeryFile(@TempDir Path folder) throws Exception {
        String made = ptx.replaceFirst("(?s).*?\n// nvcc ([\\d.]+);.*", "$1");
        Job nvcc = Job.run(List.of("sh", "-c", "command -v ptxas && nvcc --version"), Map.of());
        Assumptions.assumeTrue(nvcc.output().contains("release 13."), "no nvcc and ptxas of CUDA 13 on the PATH");

        Job script = Job.run(List.of(SCRIPT.toString(), folder.toString(), "mlp"), Map.of());

        assertThat(script.exitCode()).as(script.output()).isZero();
        Assumptions.assumeTrue(
                nvcc.output().contains("V" + made + "\n"),
                "it compiles, but nvcc is not " + made + " to compare bytes");
        assertThat(Files.readString(folder.resolve("mlp.ptx")).equals(ptx))
                .as("the script's result is that of the repository")
                .isTrue();
    }
}
