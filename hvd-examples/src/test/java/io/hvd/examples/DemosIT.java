package io.hvd.examples;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.testing.Job;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The demonstrations through the real jar, on ranks that are processes. */
class DemosIT {
    @Test
    void theHangOfTwoProcessesEndsWithExitCodeOneAndNamesRankOne() {
        Job job = TrainJar.horovodrun(2, "hang-demo", "--after", "2");

        assertThat(job.exitCode()).as(job.output()).isEqualTo(1);
        assertThat(job.lines("hvd: HANG: ")).hasSize(1);
        assertThat(job.lines("hvd: HANG: ").get(0)).contains("then rank 1 left out allreduce \"weights\"");
        assertThat(job.lines("horovodrun: first failure: rank ")).hasSize(1);
    }

    @Test
    @Tag("long")
    void everyOtherDemonstrationEndsWellOnTwoAndFourProcesses() {
        for (int ranks : List.of(2, 4)) {
            assertThat(result(ranks, "toy")).contains(" part=basic ", " weights=equal ");
            assertThat(result(ranks, "toy", "--part", "checkpoint")).contains(" weights=equal ");
            assertThat(result(ranks, "toy", "--part", "model-parallel")).contains(" weights=equal ");
            assertThat(result(ranks, "toy", "--part", "pipeline", "--steps", "20"))
                    .contains(" stages=" + ranks + " ");
            assertThat(result(ranks, "sampler-demo")).contains(" orders_with=3 orders_without=1 ");
            assertThat(result(ranks, "uneven-data")).contains("5,3 steps_pad=");
            assertThat(result(ranks, "adasum-demo", "--degree", "3")).contains(" best_adasum=0.");
            assertThat(result(ranks, "distributed-eval")).contains(" evaluated=101 ");
        }
    }

    private static String result(int ranks, String... flags) {
        Job job = TrainJar.horovodrun(ranks, flags);
        assertThat(job.exitCode()).as(job.output()).isZero();
        List<String> results = job.lines("RESULT example=" + flags[0] + " ranks=" + ranks + " ");
        assertThat(results).as(job.output()).hasSize(1);
        return results.get(0);
    }
}
