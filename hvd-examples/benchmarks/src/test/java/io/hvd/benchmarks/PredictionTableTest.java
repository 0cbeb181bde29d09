package io.hvd.benchmarks;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.benchmarks.cost.Algorithm;
import io.hvd.benchmarks.cost.CalibrationHost;
import io.hvd.benchmarks.cost.CostModel;
import io.hvd.benchmarks.cost.Fit;
import io.hvd.benchmarks.cost.JobShape;
import io.hvd.benchmarks.cost.Sample;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** What is printed for jobs that nobody has measured. A ring of two hosts takes 10 us and 1 ns for each byte. */
class PredictionTableTest {
    private static final CostModel MODEL = Fit.of(
            new CalibrationHost("two hosts", 2, true, 0, Double.POSITIVE_INFINITY),
            Stream.of(1_000L, 10_000L, 100_000L)
                    .map(bytes -> new Sample(Algorithm.RING, new JobShape(2, 2), bytes, 20e-6 + 1e-9 * bytes))
                    .toList());

    /** 100,000 bytes are one chunk, which needs 120 us of work and 100,000 / 12.5e6 s on a link of 100 Mbit/s. */
    @Test
    void eachJobSizeAndLinkHasItsTimeAndWhatTheLinkHasOfIt() {
        List<String> lines = new PredictionTable(
                        MODEL,
                        List.of(new JobShape(2, 2), new JobShape(4, 2)),
                        List.of(100_000L),
                        List.of(12.5e6, Double.POSITIVE_INFINITY))
                .lines();

        assertThat(lines)
                .contains(
                        "| 2 x 1 | 100000 | 100.0 | 8.120 | 99 % | 8.120 | 99 % | - | - |",
                        "| 2 x 1 | 100000 | no limit | 0.1200 | 0 % | 0.1200 | 0 % | - | - |");
        assertThat(lines)
                .filteredOn(line -> line.startsWith("| 2 x 2 |"))
                .hasSize(2)
                .allMatch(line -> line.endsWith("| - | - | - | - | - | - |"));
    }

    @Test
    void itSaysWhatItAssumes() {
        assertThat(assumed(MODEL)).contains("two hosts", "share 2 cores", "link of its own", "one tensor");
        assertThat(assumed(MODEL.withOwnCores(8)))
                .contains("8 cores of its own")
                .doesNotContain("share 2 cores");
    }

    private static String assumed(CostModel model) {
        return String.join("\n", new PredictionTable(model, List.of(), List.of(), List.of()).lines());
    }
}
