package io.hvd.job;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.config.SlurmPlace;
import io.hvd.spi.GpuDriver.Gpu;
import io.hvd.spi.Topology;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class PlacementReportTest {
    private static final Topology TOPOLOGY =
            Topology.of(3, List.of("a", "a", "b", "b"), List.of("n1", "n1", "n2", "n2"));

    @Test
    void aRankNamesItsPlaceItsGpuAndItsTask() {
        Map<String, String> step =
                Map.of("SLURM_JOB_ID", "7", "SLURM_STEP_ID", "0", "SLURM_PROCID", "3", "SLURM_STEP_NUM_TASKS", "4");
        List<Gpu> gpus = List.of(new Gpu(1, "H100", "0000:b3:00.0"));

        assertThat(PlacementReport.of(TOPOLOGY, 4711, gpus, SlurmPlace.of(step)))
                .isEqualTo(
                        "rank 3 of 4 on n2: local rank 1 of 2, cross rank 1 of 2, GPU 1 (H100, PCI 0000:b3:00.0), pid 4711,"
                                + " Slurm job 7, step 7.0, SLURM_PROCID 3");
    }

    @Test
    void underMpirunInASlurmJobThereIsAJobAndNoTask() {
        Map<String, String> inJob = Map.of("SLURM_JOB_ID", "7", "SLURM_PROCID", "0", "OMPI_COMM_WORLD_RANK", "3");

        assertThat(PlacementReport.of(TOPOLOGY, 5, List.of(), SlurmPlace.of(inJob)))
                .isEqualTo("rank 3 of 4 on n2: local rank 1 of 2, cross rank 1 of 2, no GPU, pid 5, Slurm job 7");
    }

    @Test
    void severalGpusAreAllNamed() {
        List<Gpu> gpus = List.of(new Gpu(2, "A", "0000:01:00.0"), new Gpu(3, "B", "0000:02:00.0"));

        assertThat(PlacementReport.of(TOPOLOGY, 5, gpus, Optional.empty()))
                .endsWith("GPU 2 (A, PCI 0000:01:00.0), GPU 3 (B, PCI 0000:02:00.0), pid 5");
    }

    /** Node n1 has one rank more, so its last one is alone in its cross. */
    @Test
    void theCrossRankIsThePlaceAmongTheNodesThatHaveThisLocalRank() {
        List<String> hosts = List.of("n1", "n1", "n1", "n2", "n2");

        assertThat(PlacementReport.of(Topology.of(4, hosts, hosts), 5, List.of(), Optional.empty()))
                .startsWith("rank 4 of 5 on n2: local rank 1 of 2, cross rank 1 of 2, ");
        assertThat(PlacementReport.of(Topology.of(2, hosts, hosts), 5, List.of(), Optional.empty()))
                .startsWith("rank 2 of 5 on n1: local rank 2 of 3, cross rank 0 of 1, ");
    }
}
