package io.hvd.launch.contract;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.contract.StartingSetsProgram;
import io.hvd.testing.Job;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Process sets from the start, under real mpirun. */
class StartingSetsIT {
    @Test
    void setsNamedAtTheStartAreCheckedAndThenWork() {
        Job job = Job.horovodrun(4, Map.of("HOROVOD_DYNAMIC_PROCESS_SETS", "1"), StartingSetsProgram.class);

        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(job.lines("starting sets work on rank ")).hasSize(4);
    }
}
