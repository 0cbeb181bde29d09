package com.example;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.hvd.Hvd;
import io.hvd.train.Checkpoint;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class LoopTrainerTest {
    @TempDir
    Path folder;

    @Test
    void threeRanksEndTogetherAtTheLineAndRankZeroHasSavedIt() throws IOException {
        Path best = folder.resolve("best.safetensors");
        List<Integer> epochs = Hvd.spawn(3, hvd -> {
            var trainer = new LoopTrainer();
            trainer.slope[0] = hvd.rank(); // until rank 0 has sent its own
            var end = trainer.train(hvd, best);
            assertEquals(3, trainer.slope[0], 0.01);
            assertEquals(1, trainer.offset[0], 0.01);
            assertTrue(end.result("loss").mean() < 1e-5);
            assertEquals(96, end.result("loss").samples());
            return end.epoch();
        });

        assertEquals(1, epochs.stream().distinct().count());
        Checkpoint saved = Checkpoint.read(best);
        assertEquals(3, saved.tensors().get("slope").toFloatArray()[0], 0.01);
        assertTrue(Integer.parseInt(saved.metadata().get("epochs")) <= epochs.get(0));
    }

    @Test
    void twoRanksTrainTwoEpochsAndThreeGoOnFromTheirFolder() {
        Path series = folder.resolve("series");
        Hvd.spawn(2, hvd -> new LoopTrainer().trainOn(hvd, series, 2));
        List<Long> steps = Hvd.spawn(3, hvd -> new LoopTrainer().trainOn(hvd, series, 3).steps());

        assertEquals(List.of(16L, 16L, 16L), steps); // 2 epochs of 6 steps, then one of 4
    }
}
