package io.hvd.transport.mpi;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

class MpiProgressTest {
    private static final long MILLI = 1_000_000;

    private long now = Long.MAX_VALUE - 50 * MILLI; // the clock may wrap round
    private final List<Long> calls = new ArrayList<>();
    private final MpiProgress progress = new MpiProgress(() -> calls.add(now), () -> now);

    /** Sleeps as long as it may, so many times. */
    private List<Long> sleeps(int many) {
        List<Long> millis = new ArrayList<>();
        for (int i = 0; i < many; i++) {
            long nanos = progress.make();
            millis.add(nanos / MILLI);
            now += nanos;
        }
        return millis;
    }

    @Test
    void nothingIsDueBeforeAnythingHasBeenSent() {
        assertThat(progress.make()).isEqualTo(Long.MAX_VALUE);
        assertThat(calls).isEmpty();
    }

    @Test
    void mpiIsCalledMoreAndMoreRarely() {
        progress.sent();
        assertThat(sleeps(10)).containsExactly(1L, 2L, 4L, 8L, 16L, 32L, 64L, 100L, 100L, 100L);
        assertThat(calls).hasSize(9);
    }

    @Test
    void nothingIsDueAnyLongerWhenAllHasArrived() {
        progress.sent();
        sleeps(3);
        progress.delivered();
        assertThat(progress.make()).isEqualTo(Long.MAX_VALUE);
        progress.sent();
        assertThat(sleeps(2)).containsExactly(1L, 2L);
    }

    @Test
    void whatIsSentBringsTheFirstCallsBack() {
        progress.sent();
        sleeps(10);
        progress.sent();
        assertThat(sleeps(3)).containsExactly(1L, 2L, 4L);
    }

    @Test
    void whoWakesUpEarlySleepsForTheRest() {
        progress.sent();
        progress.make();
        now += MILLI / 4;
        assertThat(progress.make()).isEqualTo(MILLI - MILLI / 4);
        assertThat(calls).isEmpty();
    }

    @Test
    void onlyTheThreadThatUsesMpiCallsIt() throws Exception {
        progress.sent();
        progress.make();
        now += MpiProgress.LONGEST_NANOS;

        assertThat(CompletableFuture.supplyAsync(progress::make).get()).isEqualTo(Long.MAX_VALUE);
        assertThat(calls).isEmpty();
        assertThat(progress.isPending()).isTrue();
        progress.make();
        assertThat(calls).hasSize(1);
    }
}
