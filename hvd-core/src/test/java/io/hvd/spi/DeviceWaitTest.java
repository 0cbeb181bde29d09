package io.hvd.spi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * A communication thread and a simulated device by a clock of the test's own, so that what is late is counted and not
 * measured. What the simulated steps cost is what was measured on a machine, rounded up; nothing here proves anything about a GPU.
 */
class DeviceWaitTest {
    /** A turn of the communication thread: a query of the driver, a look at the sockets and at the queue. */
    private static final long LOOK_NANOS = 8_000;

    private static final long WAKE_UP_NANOS = 5_000;
    private static final long YIELD_NANOS = 500;
    private static final long LINUX_SLACK_NANOS = 50_000;
    private static final long PROMPT_SLACK_NANOS = 1_000;

    private static final long LATEST_NANOS = 50_000;
    private static final long LONGEST_WORK_NANOS = 3_000_000;

    private final ManualCore core = new ManualCore();

    private static final class ManualCore implements DeviceWait.Core {
        long now = 1_000;
        long busyNanos;
        int yields;
        boolean prompt;
        /** How long other threads compute on this core if it is left to them. */
        long wanted;

        @Override
        public long nanoTime() {
            return now;
        }

        @Override
        public void giveWay() {
            yields++;
            now += YIELD_NANOS + wanted;
            busyNanos += YIELD_NANOS;
        }

        @Override
        public void wakePromptly() {
            prompt = true;
        }

        void sleep(long nanos) {
            now += nanos + WAKE_UP_NANOS + (prompt ? PROMPT_SLACK_NANOS : LINUX_SLACK_NANOS);
            busyNanos += WAKE_UP_NANOS;
        }
    }

    /** The work of a device that ends at some time. */
    private record Work(long endNanos) {
        boolean isDone(ManualCore core) {
            boolean done = core.now >= endNanos;
            core.now += LOOK_NANOS;
            core.busyNanos += LOOK_NANOS;
            return done;
        }
    }

    /** Looks until the work is known to be done; returns how late that is. */
    private long lateness(DeviceWait wait, long workNanos, boolean awaited) {
        Work work = new Work(core.now + workNanos);
        while (!work.isDone(core)) {
            long nanos = wait.nanosUntilNextLook(awaited);
            if (nanos > 0) {
                core.sleep(nanos);
            }
        }
        return core.now - work.endNanos();
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void theEndOfAnyWorkIsKnownWithin50Microseconds(boolean awaited) {
        DeviceWait wait = new DeviceWait(core);
        long latest = 0;
        for (long nanos = 1; nanos < LONGEST_WORK_NANOS; nanos += 1_237) {
            latest = Math.max(latest, lateness(wait, nanos, awaited));
        }
        assertThat(latest).isLessThanOrEqualTo(LATEST_NANOS);
        assertThat(latest).as("what the test can tell").isGreaterThan(LOOK_NANOS);
    }

    @Test
    void whileTheProgramWaitsItIsKnownAfterOneLook() {
        assertThat(lateness(new DeviceWait(core), LONGEST_WORK_NANOS, true))
                .isLessThanOrEqualTo(2 * LOOK_NANOS + YIELD_NANOS);
    }

    /** The program computes on this core, perhaps. */
    @Test
    void whileNobodyWaitsMostOfTheCoreIsLeftToOthers() {
        long begun = core.now;
        lateness(new DeviceWait(core), LONGEST_WORK_NANOS, false);
        assertThat(core.yields).isZero();
        assertThat(core.busyNanos).isLessThan((core.now - begun) * 4 / 10);
    }

    @Test
    void aCoreThatOthersWantIsLeftToThemAndTheEndIsKnownSoonAllTheSame() {
        DeviceWait wait = new DeviceWait(core);
        core.wanted = 4_000_000;
        lateness(wait, 10_000, true); // here it loses its core
        assertThat(core.yields).isEqualTo(1);

        long begun = core.now;
        long busyBefore = core.busyNanos;
        for (int i = 0; i < 5; i++) {
            assertThat(lateness(wait, 1_000_000, true)).isLessThanOrEqualTo(LATEST_NANOS);
        }
        assertThat(core.yields).isEqualTo(1);
        assertThat(core.busyNanos - busyBefore).isLessThan((core.now - begun) * 4 / 10);
    }

    @Test
    void afterAWhileItSeesWhetherTheCoreIsStillWanted() {
        DeviceWait wait = new DeviceWait(core);
        core.wanted = 4_000_000;
        lateness(wait, 10_000, true);
        core.wanted = 0;
        lateness(wait, 20_000_000, true);

        int before = core.yields;
        lateness(wait, 1_000_000, true);
        assertThat(core.yields - before).isGreaterThan(100);
    }

    /** On Linux, where the test runs as the process's own user. */
    @Test
    void theSystemIsAskedToWakeTheThreadOnTime() throws Exception {
        Path self = Path.of("/proc/thread-self");
        assumeTrue(Files.exists(self), "this system has no /proc");
        FutureTask<String> slack = new FutureTask<>(() -> {
            new DeviceWait().nanosUntilNextLook(false);
            Path thread = Files.readSymbolicLink(self).getFileName();
            return Files.readString(Path.of("/proc", thread.toString(), "timerslack_ns"));
        });
        new Thread(slack, "device-wait-test").start();
        assertThat(slack.get().strip()).isEqualTo("1000");
    }
}
