package io.hvd.optimizer.torch;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.testing.Job;
import java.util.Map;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Processes under mpirun skip a step together. */
class OverflowIT {
    @ParameterizedTest(name = "{0} ranks")
    @ValueSource(ints = {2, 4})
    void anOverflowOnOneRankSkipsTheStepOfAllAndLeavesThemWithTheSameScaleAndTracker(int ranks) {
        Job job = Job.horovodrun(ranks, Map.of("HVD_THREADS_PER_RANK", "1"), OverflowProgram.class);

        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(job.lines("END scale=32768.0 tracker=9 skipped=1 same=true"))
                .as(job.output())
                .hasSize(ranks);
    }
}
