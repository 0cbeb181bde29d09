package io.hvd.transport.nccl;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.testing.HostCuda;
import io.hvd.testing.Job;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Ranks as threads, on the CUDA driver that runs on the CPU; NCCL is missing, so that tensors go through the host. */
class SpawnOnGpusTest {
    @Test
    void eachThreadHasTheGpuOfItsLocalRankAsItsCurrentOne() {
        Job job = spawn(3, 3, Map.of());

        assertThat(job.lines("RANK "))
                .containsExactlyInAnyOrder(
                        "RANK 0 of 3 on cuda:0: current, sum 6.0",
                        "RANK 1 of 3 on cuda:1: current, sum 6.0",
                        "RANK 2 of 3 on cuda:2: current, sum 6.0");
    }

    @Test
    void eachThreadMayHaveSeveralGpus() {
        Job job = spawn(2, 4, Map.of(), "2");

        assertThat(job.lines("RANK "))
                .containsExactlyInAnyOrder(
                        "RANK 0 of 2 on cuda:0: current, sum 3.0", "RANK 1 of 2 on cuda:2: current, sum 3.0");
    }

    @Test
    void moreThreadsThanGpusAreRefusedWithTheSettingsThatHelp() {
        Job job = spawn(3, 2, Map.of());

        assertThat(job.lines("RANK ")).isEmpty();
        assertThat(job.lines("REFUSED "))
                .singleElement()
                .asString()
                .contains("3 ranks", "2 visible GPU(s)", "too few for rank 2", "HVD_SHARE_GPU=1", "HVD_BACKEND=mpi");
    }

    @Test
    void threadsShareGpusWhereTheSettingAllowsIt() {
        Job job = spawn(3, 2, Map.of("HVD_SHARE_GPU", "1"));

        assertThat(job.lines("RANK "))
                .containsExactlyInAnyOrder(
                        "RANK 0 of 3 on cuda:0: current, sum 6.0",
                        "RANK 1 of 3 on cuda:1: current, sum 6.0",
                        "RANK 2 of 3 on cuda:0: current, sum 6.0");
    }

    @ParameterizedTest
    @ValueSource(strings = {"local", "mpi"})
    void moreThreadsThanGpusComputeOnTheCpuIfABackEndOfTheHostIsAskedForByName(String backend) {
        Job job = spawn(3, 1, Map.of("HVD_BACKEND", backend));

        assertThat(job.lines("RANK "))
                .containsExactlyInAnyOrder(
                        "RANK 0 of 3 on cpu: sum 6.0", "RANK 1 of 3 on cpu: sum 6.0", "RANK 2 of 3 on cpu: sum 6.0");
    }

    @Test
    void ncclAskedForByNameAndMissingIsNamed() {
        Job job = spawn(2, 2, Map.of("HVD_BACKEND", "nccl"));

        assertThat(job.lines("REFUSED ")).singleElement().asString().contains("HVD-201", "NCCL", "ranks [0, 1]");
    }

    private static Job spawn(int threads, int gpus, Map<String, String> settings, String... more) {
        Map<String, String> environment = new TreeMap<>(HostCuda.with().environment(gpus));
        environment.putAll(settings);
        String[] args = Stream.concat(Stream.of(String.valueOf(threads)), Stream.of(more))
                .toArray(String[]::new);
        Job job = Job.run(Job.program(SpawnOnGpusProgram.class, args), environment);
        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(job.lines("RANK ").size() + job.lines("REFUSED ").size())
                .as(job.output())
                .isPositive();
        return job;
    }
}
