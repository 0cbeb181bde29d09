package io.hvd.benchmarks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class QuietLaunchTest {
    private final List<String> told = new ArrayList<>();

    private double percentOf(int tries, Integer... percents) throws IOException, InterruptedException {
        Deque<Integer> launches = new ArrayDeque<>(List.of(percents));
        Samples kept = new QuietLaunch(tries, told::add).of(() -> {
            Samples samples = new Samples();
            samples.launched(0, 100, launches.removeFirst());
            return samples;
        });
        assertThat(launches).as("launches that were not needed").hasSize(percents.length - 1 - told.size());
        return kept.othersPercent();
    }

    @Test
    void aQuietLaunchIsTakenAtOnce() throws Exception {
        assertThat(percentOf(3, 10, 0)).isEqualTo(10);
        assertThat(told).isEmpty();
    }

    @Test
    void aDisturbedLaunchIsRepeatedUntilOneIsQuiet() throws Exception {
        assertThat(percentOf(3, 40, 2, 0)).isEqualTo(2);
        assertThat(told).singleElement().asString().contains("40.0 %", "launch 2 of at most 3");
    }

    @Test
    void ifAllAreDisturbedTheQuietestIsKept() throws Exception {
        assertThat(percentOf(3, 40, 25, 30, 0)).isEqualTo(25);
        assertThat(told).hasSize(2);
    }

    @Test
    void oneTryNeverRepeats() throws Exception {
        assertThat(percentOf(1, 90, 0)).isEqualTo(90);
    }

    @Test
    void theNumberOfTriesIsThreeUnlessTheEnvironmentSaysOtherwise() throws Exception {
        assertThat(QuietLaunch.tries(Map.of())).isEqualTo(3);
        assertThat(QuietLaunch.tries(Map.of("BENCH_TRIES", "1"))).isEqualTo(1);
        assertThatThrownBy(() -> QuietLaunch.tries(Map.of("BENCH_TRIES", "0")))
                .isInstanceOf(IOException.class)
                .hasMessageContaining("BENCH_TRIES has \"0\"");
    }
}
