package com.example;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.hvd.train.Training;
import java.nio.file.Path;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class TrainingServiceTest {
    private static final int ENDLESS = 100_000_000;

    @TempDir
    Path folder;

    @Test
    void aCancelledTrainingHasSavedAndTheNextOneGoesOnFromThere() throws Exception {
        try (TrainingService service = new TrainingService()) {
            Future<Training> first = service.begin(folder, ENDLESS);
            while (!service.cancel("enough")) {
                Thread.onSpinWait();
            }
            Training ended = first.get(30, TimeUnit.SECONDS);
            assertTrue(ended.isCancelled());
            assertTrue(ended.stopReason().contains("enough"), ended.stopReason());

            Training next = service.begin(folder, ended.epoch() + 1).get(30, TimeUnit.SECONDS);
            assertFalse(next.isCancelled());
            assertEquals(ended.steps(), next.stepsResumed());
        }
    }

    @Test
    void closingTheServiceEndsItsTrainingWell() throws Exception {
        Future<Training> endless;
        try (TrainingService service = new TrainingService()) {
            endless = service.begin(folder, ENDLESS);
        }
        assertTrue(endless.get(1, TimeUnit.SECONDS).stopReason().contains("closing"));
    }
}
