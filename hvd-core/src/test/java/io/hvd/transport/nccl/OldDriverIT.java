package io.hvd.transport.nccl;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.testing.HostCuda;
import io.hvd.testing.Job;
import io.hvd.testing.Mpirun;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Drivers and GPUs that hvd's kernels are too new for: tensors there are refused, with the versions, and the job goes on. */
class OldDriverIT {
    @Test
    void anOldDriverIsNamedWithItsVersion() {
        assertThat(refusal("HOST_CUDA_VERSION", "9020"))
                .contains("HVD-201", "cuda:0", "made for CUDA 9.2", "need one for CUDA 10.0");
    }

    @Test
    void anOldGpuIsNamedWithItsCapability() {
        assertThat(refusal("HOST_CUDA_CAPABILITY", "70"))
                .contains("HVD-201", "cuda:0", "compute capability 7.0", "need 7.5");
    }

    private static String refusal(String variable, String value) {
        Map<String, String> environment = HostCuda.with().environment(1);
        environment.put(variable, value);
        Job job = Job.run(Mpirun.command(1, OldDriverProgram.class), environment);
        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(job.lines("NEXT 1.0")).as(job.output()).hasSize(1);
        return job.lines("REFUSED ").stream().findFirst().orElseThrow(() -> new AssertionError(job.output()));
    }
}
