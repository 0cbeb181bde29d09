package io.hvd.contract;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.testing.InsideMpirun;
import io.hvd.testing.Job;
import java.util.Map;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The contract under real mpirun. */
class MpiContractIT {
    @ParameterizedTest(name = "{0} processes")
    @ValueSource(ints = {1, 2, 4, 8})
    void theContractHoldsUnderMpirun(int ranks) {
        Job job = Job.horovodrun(ranks, InsideMpirun.class, MpiContract.class.getName());

        assertThat(job.output()).contains("TESTS backend=mpi ranks=" + ranks + " passed=");
        assertThat(job.exitCode()).as(job.output()).isZero();
        job.lines("TESTS ").forEach(System.out::println);
    }

    @ParameterizedTest(name = "fusion threshold {0}")
    @ValueSource(strings = {"0", "64"})
    void theContractHoldsWithLittleFusionAndATinyStage(String threshold) {
        Job job = Job.horovodrun(
                2,
                Map.of("HOROVOD_FUSION_THRESHOLD", threshold, "HVD_STAGE_BYTES", "4096"),
                InsideMpirun.class,
                MpiContract.class.getName());

        assertThat(job.exitCode()).as(job.output()).isZero();
        job.lines("TESTS ").forEach(System.out::println);
    }
}
