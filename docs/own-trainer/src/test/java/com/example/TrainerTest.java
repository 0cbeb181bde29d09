package com.example;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** The trainer as a user starts it: plain java, and real mpirun, which must be there. */
class TrainerTest {
    private static final Pattern REPORT = Pattern.compile("ranks=(\\d+) right=(\\d+) of 1000");

    @Test
    void aloneItIsOneRankThatLearns() throws Exception {
        assertOneReport(1, Program.alone(Trainer.class));
    }

    @Test
    void twoRanksUnderMpirunLearnAndOneReports() throws Exception {
        assertOneReport(2, Program.underMpirun(2, Trainer.class));
    }

    private static void assertOneReport(int ranks, String output) {
        List<MatchResult> reports = REPORT.matcher(output).results().toList();
        assertEquals(1, reports.size(), output);
        assertEquals(ranks, Integer.parseInt(reports.get(0).group(1)), output);
        assertTrue(Integer.parseInt(reports.get(0).group(2)) >= 850, output); // half of them is chance
    }
}
