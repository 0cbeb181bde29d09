package io.hvd.contract.explorer;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class StarvationTest {
    @Test
    void theSamplesAroundTwoTimesSayWhatWasWaitedBetweenThem() {
        long[] samples = {100, 0, 200, 30, 300, 30, 400, 90};

        assertThat(Starvation.between(samples, 210, 290)).isZero();
        assertThat(Starvation.between(samples, 310, 320)).isEqualTo(60);
        assertThat(Starvation.between(samples, 50, 1000)).isEqualTo(90);
        assertThat(Starvation.between(new long[0], 50, 1000)).isZero();
    }

    /** More threads that compute than there are cores: some of them wait, whoever else is on the machine. */
    @Test
    void threadsThatComputeOnMoreCoresThanThereAreWait() throws InterruptedException {
        Thread[] threads = new Thread[2 * Runtime.getRuntime().availableProcessors() + 1];
        long begun = System.nanoTime();
        try (Starvation starvation = Starvation.watch()) {
            for (int i = 0; i < threads.length; i++) {
                threads[i] = new Thread(() -> computeFor(300_000_000));
                threads[i].start();
            }
            for (Thread thread : threads) {
                thread.join();
            }
            assertThat(Starvation.between(starvation.samples(), begun, System.nanoTime()))
                    .isPositive();
        }
    }

    private static void computeFor(long nanos) {
        long begun = System.nanoTime();
        while (System.nanoTime() - begun < nanos) {
            Thread.onSpinWait();
        }
    }
}
