package io.hvd.backend.mpi.bindings;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class NetworkWaitTest {
    private final AtomicLong now = new AtomicLong(-7_000);
    private long slept;

    private NetworkWait wait(boolean spins) {
        return new NetworkWait(spins, () -> now.addAndGet(1_000), nanos -> {
            slept += nanos;
            now.addAndGet(nanos);
        });
    }

    @Test
    void whoHasACoreForItselfSpinsForFiftyMicrosecondsAndRestsThen() {
        NetworkWait wait = wait(true);
        for (int again = 0; again < 2; again++) {
            slept = 0;
            wait.begin();
            for (int look = 0; look < 50; look++) {
                wait.pause();
            }
            assertThat(slept).isZero();
            wait.pause();
            wait.pause();
            assertThat(slept).isEqualTo(2 * 20_000);
        }
    }

    @Test
    void whoeverSharesItsCoreRestsAtOnce() {
        NetworkWait wait = wait(false);
        wait.begin();
        wait.pause();
        assertThat(slept).isEqualTo(20_000);
    }
}
