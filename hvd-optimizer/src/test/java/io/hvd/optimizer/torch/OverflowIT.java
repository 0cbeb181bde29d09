package io.hvd.optimizer.torch;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.testing.Job;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Processes under mpirun skip a step together. */
class OverflowIT {
    @Test
    void anOverflowOnOneRankSkipsTheStepOfAllAndLeavesThemWithTheSameScaleAndTracker() {
        requireStepSkippedByAll(2);
    }

    @Test
    @Tag("long")
    void onFourRanksItDoesSoToo() {
        requireStepSkippedByAll(4);
    }

    private static void requireStepSkippedByAll(int ranks) {
        Job job = Job.horovodrun(ranks, Map.of("HVD_THREADS_PER_RANK", "1"), OverflowProgram.class);

        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(job.lines("END scale=32768.0 tracker=9 skipped=1 same=true"))
                .as(job.output())
                .hasSize(ranks);
    }
}
