package com.example;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.hvd.Hvd;
import java.util.List;
import org.junit.jupiter.api.Test;

class ArrayTrainerTest {
    @Test
    void threeRanksAsThreadsEndWithTheSameLine() {
        List<float[]> lines = Hvd.spawn(3, ArrayTrainer::train);

        assertEquals(3, lines.size());
        for (float[] line : lines) {
            assertArrayEquals(lines.get(0), line);
            assertArrayEquals(new float[] {3, 1}, line, 0.01f);
        }
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
