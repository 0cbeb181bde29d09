package io.hvd.benchmarks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SamplesTest {
    @TempDir
    Path folder;

    @Test
    void ofEachTimingTheSlowestRanksCounts() throws IOException {
        rank(0, 1.5, 20).write(folder, 0);
        rank(1, 3.25, 10).write(folder, 1);

        Samples slowest = Samples.ofSlowest(folder, 2);

        assertThat(slowest.of("raw", 4)).containsExactly(3.25);
        assertThat(slowest.of("mpi", 4)).containsExactly(20.0);
        assertThat(slowest.about("raw")).isEqualTo("hvd[over_mpi]");
        assertThat(slowest.about("gloo")).isEqualTo("gloo");
    }

    @Test
    void launchesAreTakenTogether() {
        Samples both = Samples.together(List.of(rank(0, 1, 2), rank(0, 3, 4)));

        assertThat(both.of("raw", 4)).containsExactly(1.0, 3.0);
        assertThat(both.spread("mpi", 4).median()).isEqualTo(3);
    }

    @Test
    void everyLaunchThatTimedBothHasARatio() {
        Samples onlyOurs = new Samples();
        onlyOurs.add("raw", 4, 100);
        Samples two = rank(0, 1, 2);
        two.add("raw", 4, 3);
        two.add("mpi", 4, 8);

        Samples all = Samples.together(List.of(
                Samples.together(List.of(two, onlyOurs)), rank(0, 5, 30), Samples.together(List.of(rank(0, 4, 2)))));

        assertThat(all.launchRatios("raw", "mpi", 4)).containsExactly(2.5, 6.0, 0.5);
        assertThat(all.launchRatios("raw", "mpi", 8)).isEmpty();
    }

    @Test
    void aSeriesThatNobodyTimedIsNamed() {
        assertThatThrownBy(() -> rank(0, 1, 2).spread("gloo", 4))
                .hasMessageContaining("gloo")
                .hasMessageContaining("[raw, mpi]");
    }

    private static Samples rank(int rank, double raw, double mpi) {
        Samples samples = new Samples();
        samples.about("raw", "hvd[over mpi]");
        samples.add("raw", 4, raw);
        samples.add("mpi", 4, mpi);
        return samples;
    }
}
