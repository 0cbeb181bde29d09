package io.hvd.examples.cuda;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.testing.HostCuda;
import io.hvd.testing.HostCuda.Kernels;
import io.hvd.testing.Job;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The kernels of mlp.cu on the CPU: their arithmetic, their indices and their barriers, not a GPU's compiler. */
@Timeout(300)
class MlpKernelsTest {
    static final Kernels KERNELS = new Kernels(
            Path.of("src/main/cuda/mlp.cu").toAbsolutePath(),
            Path.of("src/made/io/hvd/examples/cuda/mlp.ptx").toAbsolutePath());

    @Test
    void theyDoWhatPlainJavaDoes() {
        Job job = Job.run(Job.program(MlpOnHost.class), HostCuda.with(KERNELS).environment(1));

        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(job.lines("CHECK ")).hasSize(21).allMatch(line -> line.endsWith(": right"));
        assertThat(job.lines("host GPU: ")).isEmpty();
        assertThat(job.lines("ORDER "))
                .containsExactly("ORDER "
                        + List.of(
                                "layer3.bias",
                                "layer3.weight",
                                "layer2.bias",
                                "layer2.weight",
                                "layer1.bias",
                                "layer1.weight"));
        assertThat(job.lines("REFUSED ").get(0)).contains("HVD-402", "20 bytes", "DeviceAdam");
        assertThat(job.lines("REFUSED ").get(1)).contains("HVD-402", "DeviceSgd with 1", "DeviceAdam with 2");
    }
}
