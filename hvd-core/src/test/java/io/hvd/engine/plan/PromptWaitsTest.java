package io.hvd.engine.plan;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class PromptWaitsTest {
    private static final long LONG_AGO_NANOS = 1_000_000_000;

    private final PromptWaits waits = new PromptWaits(2, 2);

    private void promptSteps(int count) {
        for (int i = 0; i < count; i++) {
            waits.submitted(System.nanoTime() + LONG_AGO_NANOS); // so that no pause of this thread makes it late
            waits.waits();
        }
    }

    @Test
    void theyAreExpectedAfterSomeStepsInARow() {
        promptSteps(7);
        assertThat(waits.areExpected()).isFalse();
        promptSteps(1);
        assertThat(waits.areExpected()).isTrue();
    }

    @Test
    void oneLateWaitMakesThemUnexpected() {
        promptSteps(20);
        waits.submitted(System.nanoTime() - LONG_AGO_NANOS);
        waits.waits();
        assertThat(waits.areExpected()).isFalse();
        promptSteps(7);
        assertThat(waits.areExpected()).isFalse();
    }

    /** The program waits for one operation after the other, each time a little later after the submission. */
    @Test
    void onlyTheFirstWaitOfAStepCounts() {
        promptSteps(20);
        waits.submitted(System.nanoTime() + LONG_AGO_NANOS);
        waits.waits();
        assertThat(waits.areExpected()).isTrue();
        PromptWaits alone = new PromptWaits(2, 2);
        alone.submitted(System.nanoTime() + LONG_AGO_NANOS);
        for (int i = 0; i < 20; i++) {
            alone.waits();
        }
        assertThat(alone.areExpected()).isFalse();
    }

    @Test
    void nobodyIsExpectedAnyMoreWhereNobodyCame() {
        promptSteps(20);
        waits.submitted(System.nanoTime() + LONG_AGO_NANOS);
        waits.nobodyWaits();
        assertThat(waits.areExpected()).as("it has just been submitted").isTrue();
        waits.submitted(System.nanoTime() - LONG_AGO_NANOS);
        waits.nobodyWaits();
        assertThat(waits.areExpected()).isFalse();
    }

    /** Another rank may have had the core for a millisecond, although the program has waited at once. */
    @Test
    void onSharedCoresAWaitMayComeATimeSliceLater() {
        PromptWaits shared = new PromptWaits(3, 2, () -> LONG_AGO_NANOS);
        for (int i = 0; i < 8; i++) {
            shared.submitted(LONG_AGO_NANOS);
            shared.waits();
        }
        shared.submitted(LONG_AGO_NANOS - 2_000_000);
        shared.nobodyWaits();
        assertThat(shared.areExpected()).isTrue();
        shared.submitted(LONG_AGO_NANOS - 4_000_000);
        shared.nobodyWaits();
        assertThat(shared.areExpected()).isFalse();
    }

    /** All of the ranks get the core once in a step, which takes them that much longer. */
    @Test
    void withManyRanksOnACoreAllOfItTakesLonger() {
        PromptWaits few = new PromptWaits(31, 2);
        PromptWaits many = new PromptWaits(256, 2, () -> LONG_AGO_NANOS);

        assertThat(many.leftNanos()).isEqualTo(16 * few.leftNanos());

        for (int i = 0; i < 8; i++) {
            many.submitted(LONG_AGO_NANOS - 16 * 2_000_000);
            many.waits();
        }
        assertThat(many.areExpected()).isTrue();
    }
}
