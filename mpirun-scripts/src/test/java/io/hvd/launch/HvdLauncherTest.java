package io.hvd.launch;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.error.HvdException;
import org.junit.jupiter.api.Test;

final class HvdLauncherTest {

    @Test
    void aRankOfAJobWithoutMpiStartsNoOtherInsideIt() {
        HvdLauncher inside = HvdLauncher.ranks(1)
                .environment("HVD_RENDEZVOUS", "launcher=c0ffee@10.0.0.1/29400")
                .environment("HOROVOD_RANK", "3");

        assertThatThrownBy(() -> inside.run(HvdLauncherTest.class))
                .isInstanceOf(HvdException.class)
                .hasMessageContaining("rank 3 of a job cannot start another job inside it");
    }
}
