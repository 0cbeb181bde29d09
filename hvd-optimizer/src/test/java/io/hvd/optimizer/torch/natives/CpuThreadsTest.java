package io.hvd.optimizer.torch.natives;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.config.Processors;
import org.junit.jupiter.api.Test;

class CpuThreadsTest {
    @Test
    void aRankGetsItsShareOfTheCoresButForOne() {
        assertThat(CpuThreads.threads(new Processors(16, false, false), 4)).isEqualTo(3);
        assertThat(CpuThreads.threads(new Processors(16, false, false), 1)).isEqualTo(15);
        assertThat(CpuThreads.threads(new Processors(2, false, false), 1)).isEqualTo(1);
    }

    @Test
    void aRankThatIsBoundToItsOwnCoresGetsAllOfThemButOne() {
        assertThat(CpuThreads.threads(new Processors(4, false, true), 4)).isEqualTo(3);
    }

    @Test
    void theReasonNamesWhatDecidesOtherwise() {
        assertThat(CpuThreads.reason(new Processors(16, false, false), 4))
                .startsWith("16 processor(s) for 4 rank(s) of this host")
                .contains("HVD_THREADS_PER_RANK", "OMP_NUM_THREADS");
        assertThat(CpuThreads.reason(new Processors(4, false, true), 4))
                .startsWith("4 processor(s) of this rank's own");
    }

    @Test
    void aRankAlwaysGetsAThread() {
        assertThat(CpuThreads.threads(new Processors(2, false, false), 4)).isEqualTo(1);
        assertThat(CpuThreads.threads(new Processors(4, false, false), 3)).isEqualTo(1);
    }
}
