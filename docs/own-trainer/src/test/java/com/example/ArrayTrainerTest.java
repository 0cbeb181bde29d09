package com.example;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.hvd.HvdContext;
import io.hvd.junit.Ranks;
import io.hvd.tensor.Tensor;
import org.junit.jupiter.api.Test;

class ArrayTrainerTest {
    @Ranks({1, 2, 3})
    void allRanksEndWithTheSameLine(HvdContext hvd) {
        float[] line = ArrayTrainer.train(hvd);

        assertArrayEquals(new float[] {3, 1}, line, 0.01f);
        assertArrayEquals(hvd.broadcast("line", Tensor.of(line), 0).toFloatArray(), line);
    }

    @Test
    void oneJvmHoldsFourRanks() throws Exception {
        String output = Program.alone(ArrayTrainer.class, "threads");

        assertEquals(4, output.lines().filter(line -> line.matches("\\[[\\d.]+, [\\d.]+]")).count(), output);
    }

    @Test
    void twoRanksUnderMpirunFindTheLine() throws Exception {
        String output = Program.underMpirun(2, ArrayTrainer.class);

        assertTrue(output.contains("ranks=2 slope=3.00 offset=1.00"), output);
    }
}
