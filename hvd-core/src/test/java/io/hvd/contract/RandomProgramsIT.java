package io.hvd.contract;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.testing.InsideMpirun;
import io.hvd.testing.Job;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Random programs under real mpirun, all of them in one job. */
class RandomProgramsIT {
    @Test
    @Tag("long")
    void twoHundredProgramsGiveWhatTheyShouldOnFourRanks() {
        Job job = Job.horovodrun(
                4,
                Map.of("HOROVOD_DYNAMIC_PROCESS_SETS", "1"),
                InsideMpirun.class,
                RandomProgramsInJob.class.getName());

        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(job.output()).contains("PROGRAMS backend=mpi ranks=4 passed=" + RandomProgramsInJob.COUNT);
        job.lines("PROGRAMS ").forEach(System.out::println);
    }
}
