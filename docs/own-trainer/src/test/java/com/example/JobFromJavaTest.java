package com.example;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import org.junit.jupiter.api.Test;

class JobFromJavaTest {
    @Test
    void theCallerGetsTheSameLineFromBothRanks() throws Exception {
        String output = Program.alone(JobFromJava.class);

        List<String> lines =
                output.lines().filter(line -> line.matches("\\[[-0-9., ]+]")).toList();
        assertEquals(2, lines.size(), output);
        assertEquals(lines.get(0), lines.get(1));
    }
}
