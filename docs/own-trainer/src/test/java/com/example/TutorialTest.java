package com.example;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.List;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The programs of the tutorial, started as it says. */
class TutorialTest {
    private static final Pattern EPOCH = Pattern.compile("epoch (\\d+): (\\d+) of 1000 right");

    @TempDir
    Path folder;

    @Test
    void oneProcessLearns() throws Exception {
        assertLearnt(10, Program.alone(OneProcess.class));
    }

    @Test
    void fourRanksLearnTheSameAndOneReports() throws Exception {
        assertLearnt(10, Program.underMpirun(4, FourRanks.class));
    }

    @Test
    void aTrainingOfTwoRanksGoesOnWithOne() throws Exception {
        String file = folder.resolve("circle.safetensors").toString();
        assertEquals(List.of(0, 1), epochs(Program.underMpirun(2, Resumable.class, file, "2")));

        String resumed = Program.alone(Resumable.class, file, "4");

        assertEquals(List.of(2, 3), epochs(resumed));
        assertFalse(resumed.contains("epoch 0"), resumed);
    }

    private static void assertLearnt(int epochs, String output) {
        assertEquals(epochs, epochs(output).size(), output);
        int last = EPOCH.matcher(output)
                .results()
                .mapToInt(found -> Integer.parseInt(found.group(2)))
                .reduce(0, (a, b) -> b);
        assertTrue(last >= 800, output); // half of them is chance
    }

    private static List<Integer> epochs(String output) {
        return EPOCH.matcher(output)
                .results()
                .map(found -> Integer.parseInt(found.group(1)))
                .toList();
    }
}
