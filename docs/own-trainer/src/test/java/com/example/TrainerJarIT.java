package com.example;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import org.junit.jupiter.api.Test;

class TrainerJarIT {
    @Test
    void theJarStartsByItself() throws Exception {
        String output = Program.jar(Path.of("target", "own-trainer.jar"));

        assertTrue(output.contains("ranks=1 right="), output);
    }
}
