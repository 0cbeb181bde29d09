package io.hvd.examples.gpu;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.examples.gpu.CheckLine.Outcome;
import io.hvd.transport.nccl.ShrinkTrial.Result;
import org.junit.jupiter.api.Test;

class LostRankTest {
    @Test
    void theLineOfRank0SaysWhoWasLostAndHowLongTheOthersTook() {
        CheckLine line = LostRank.line(new Result("", 12.34), 0, 3);

        assertThat(line.name()).isEqualTo("G2.shrink");
        assertThat(line.outcome()).isEqualTo(Outcome.PASS);
        assertThat(line.reason()).contains("rank 2 did not come", "2 rank(s) aborted it", "after 12.3 ms");
    }

    @Test
    void whatIsWrongOnARankFailsWithItsNumber() {
        CheckLine line = LostRank.line(new Result("element 5 of an allreduce of 2 ranks is 1.0", 3), 1, 3);

        assertThat(line.outcome()).isEqualTo(Outcome.FAIL);
        assertThat(line.reason()).startsWith("rank 1: element 5 of an allreduce of 2 ranks");
    }
}
