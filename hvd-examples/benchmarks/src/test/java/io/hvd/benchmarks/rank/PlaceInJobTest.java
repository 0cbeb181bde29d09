package io.hvd.benchmarks.rank;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import org.junit.jupiter.api.Test;

final class PlaceInJobTest {

    @Test
    void mpirunAndHorovodrunWithoutMpiTellRankAndSize() {
        Map<String, String> horovodrun = Map.of("HOROVOD_RANK", "2", "HOROVOD_SIZE", "3");
        assertThat(PlaceInJob.of(horovodrun)).isEqualTo(new PlaceInJob(2, 3));
        assertThat(PlaceInJob.of(Map.of("OMPI_COMM_WORLD_RANK", "1", "OMPI_COMM_WORLD_SIZE", "2", "HOROVOD_RANK", "5")))
                .isEqualTo(new PlaceInJob(1, 2));
        assertThat(PlaceInJob.of(Map.of())).isEqualTo(new PlaceInJob(0, 1));
    }
}
