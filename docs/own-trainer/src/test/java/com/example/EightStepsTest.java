package com.example;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.hvd.Hvd;
import java.io.PrintStream;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

class EightStepsTest {
    private static final Pattern ACCURACY = Pattern.compile("accuracy (0[.,]\\d{3})");

    @Test
    void twoRanksLearnAndRankZeroAloneReports() throws Exception {
        String output = Program.underMpirun(2, EightSteps.class);

        assertTrue(output.contains("rank 0 of 2 on "), output);
        Matcher accuracy = ACCURACY.matcher(output);
        assertTrue(accuracy.find(), output);
        assertTrue(Double.parseDouble(accuracy.group(1).replace(',', '.')) > 0.9, output);
        assertEquals(1, ACCURACY.matcher(output).results().count(), output);
    }

    @Test
    void theAccuracyIsThatOfAllSamplesAndTheReducedLossTheMeanOfTheRanks() {
        AtomicInteger made = new AtomicInteger();
        List<Double> accuracies = Hvd.spawn(3, hvd -> {
            assertEquals(2f, EightSteps.reduceTensor(hvd, 1 + hvd.rank()));
            EightSteps.onOneRankOfEachHost(hvd, made::incrementAndGet);
            assertEquals(1, made.get());
            PrintStream out = EightSteps.rankZeroOut(hvd);
            assertEquals(hvd.rank() == 0, out == System.out);
            return EightSteps.accuracyOfAll(hvd, hvd.rank() == 0 ? 1 : 4, hvd.rank() == 0 ? 2 : 4);
        });

        assertEquals(List.of(0.9, 0.9, 0.9), accuracies);
    }
}
