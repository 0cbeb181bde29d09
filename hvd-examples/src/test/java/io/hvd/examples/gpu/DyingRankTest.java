package io.hvd.examples.gpu;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.examples.gpu.CheckLine.Outcome;
import org.junit.jupiter.api.Test;

class DyingRankTest {
    @Test
    void onlyAnErrorThatNamesTheRankWithinSecondsPasses() {
        assertThat(line(0.4, "[HVD-303] rank 1 is gone").outcome()).isEqualTo(Outcome.PASS);
        assertThat(line(12, "[HVD-303] rank 1 is gone").outcome()).isEqualTo(Outcome.FAIL);
        assertThat(line(12, "[HVD-303] rank 1 is gone").reason()).contains("later than after 10.0 s", "12.0 s");
        assertThat(line(0.4, "ncclInternalError").outcome()).isEqualTo(Outcome.FAIL);
        assertThat(line(0.4, "ncclInternalError").reason()).contains("the cause is missing", "ncclInternalError");
        assertThat(line(0.4, "rank 11 is gone").outcome()).isEqualTo(Outcome.FAIL);
    }

    private static CheckLine line(double seconds, String message) {
        return DyingRank.line("G2.rank-dies", 0, 1, seconds, message);
    }
}
