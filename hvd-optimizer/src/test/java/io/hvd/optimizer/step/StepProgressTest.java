package io.hvd.optimizer.step;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class StepProgressTest {
    private final StepProgress progress = new StepProgress();

    @Test
    void aStepCountsAsFailedUntilItEnds() {
        progress.begin();
        assertTrue(progress.hasFailed());
        progress.ended();
        assertFalse(progress.hasFailed());
        assertEquals(1, progress.made());
    }

    @Test
    void startingOverForgetsGradientsButNoSteps() {
        progress.begin();
        progress.setAnyBegun();
        progress.setSynchronized(true);
        progress.setGathered();
        progress.startOver();
        assertFalse(progress.isSynchronized());
        assertFalse(progress.isGathered());
        assertTrue(progress.anyBegun());
        assertTrue(progress.hasFailed());
        assertEquals(1, progress.made());
    }

    @Test
    void aNormIsMeasuredInOneStep() {
        assertTrue(Double.isNaN(progress.lastNorm()));
        progress.measureNorm();
        assertTrue(progress.takeMeasuresNorm());
        assertFalse(progress.takeMeasuresNorm());
    }
}
