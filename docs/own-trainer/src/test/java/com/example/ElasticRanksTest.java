package com.example;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.hvd.junit.FaultPlan;
import io.hvd.launch.HvdLauncher;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ElasticRanksTest {
    @Test
    void theOthersEndTheTrainingWhenOneOfThreeIsKilled(@TempDir Path folder) throws Exception {
        HvdLauncher.ranks(3)
                .flags("--min-np", "2", "--output-filename", folder.toString())
                .environment(FaultPlan.VARIABLE, FaultPlan.kill(1).atStep(30).toString())
                .run(ElasticRanks.class);

        String said = Files.readString(folder.resolve("rank.0/stdout"));
        String log = Files.readString(folder.resolve("rank.0/stderr"));
        assertTrue(said.contains("epoch 9: "), said);
        assertTrue(log.contains("generation 1: 2 ranks, step "), log);
    }
}
