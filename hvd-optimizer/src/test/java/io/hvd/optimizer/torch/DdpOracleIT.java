package io.hvd.optimizer.torch;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.testing.Job;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** LibTorch's own data-parallel training, in the same processes, as the measure of ours. */
class DdpOracleIT {
    @Test
    void trainingEndsWithTheLossesAndWeightsOfLibTorchsOwnDdpOnGloo() {
        Job job = Job.horovodrun(2, Map.of("GLOO_SOCKET_IFNAME", "lo", "HVD_THREADS_PER_RANK", "1"), BesideDdp.class);

        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(job.output()).contains("rank 0 of 2 agrees with DDP", "rank 1 of 2 agrees with DDP");
    }
}
