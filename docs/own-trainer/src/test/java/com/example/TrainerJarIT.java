package com.example;

import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class TrainerJarIT {
    @TempDir
    Path folder;

    @Test
    void theJarStartsByItself() throws Exception {
        String output = Program.jar(Path.of("target", "own-trainer.jar"));

        assertTrue(output.contains("ranks=1 right="), output);
    }

    /** Made by the profile one-jar; copied to where there are no libraries beside it. */
    @Test
    void theJarWithTheLibrariesTrainsOnTwoRanks() throws Exception {
        Path all = Path.of("target", "own-trainer-all.jar");
        assumeTrue(Files.exists(all), "mvn -Pone-jar verify");

        String output = Program.jarUnderMpirun(2, Files.copy(all, folder.resolve("trainer.jar")));

        assertTrue(output.contains("ranks=2 right="), output);
    }
}
