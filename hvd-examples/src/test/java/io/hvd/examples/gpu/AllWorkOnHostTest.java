package io.hvd.examples.gpu;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.testing.HostCuda;
import io.hvd.testing.Job;
import io.hvd.transport.nccl.natives.AllWorkOnHost;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The one function of the driver that is called through JavaCPP, whose binding needs NVIDIA's CUDA runtime. */
@Timeout(120)
class AllWorkOnHostTest {
    private static final String RUNTIME = "libcudart.so.13";

    @Test
    void anEventComesAfterTheWorkOfAllStreams() {
        Path runtime = Stream.of("cuda", "cuda-13.0", "cuda-13.1", "cuda-13.2", "cuda-13.3")
                .map(version -> Path.of("/usr/local", version, "lib64"))
                .filter(folder -> Files.exists(folder.resolve(RUNTIME)))
                .findFirst()
                .orElse(null);
        Assumptions.assumeTrue(runtime != null, "no " + RUNTIME + " in /usr/local/cuda*/lib64");
        Map<String, String> environment = HostCuda.with().environment(1);
        environment.merge("LD_LIBRARY_PATH", runtime.toString(), (host, cuda) -> host + ":" + cuda);

        Job job = Job.run(Job.program(AllWorkOnHost.class), environment);

        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(job.lines("REACHED ")).containsExactly("REACHED AT ONCE false", "REACHED true");
        assertThat(job.lines("WRITTEN ")).containsExactly("WRITTEN 7");
        assertThat(job.lines("REFUSED ").get(0)).contains("cuCtxRecordEvent failed: CUDA_ERROR_INVALID_CONTEXT");
    }
}
