package io.hvd.job;

import io.hvd.config.SlurmPlace;
import io.hvd.spi.GpuDriver.Gpu;
import io.hvd.spi.Topology;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;

/** The line in which a rank says at init where it runs: enough to see by eye that every rank has a place and a GPU of its own. */
final class PlacementReport {
    private PlacementReport() {}

    /** @param gpus this rank's GPUs */
    static String of(Topology topology, long pid, List<Gpu> gpus, Optional<SlurmPlace> slurm) {
        return "rank " + topology.rank() + " of " + topology.size() + " on " + topology.host() + ": local rank "
                + topology.localRank() + " of " + topology.localSize() + ", cross rank " + topology.crossRank() + " of "
                + topology.crossSize() + ", "
                + (gpus.isEmpty()
                        ? "no GPU"
                        : gpus.stream().map(PlacementReport::name).collect(Collectors.joining(", ")))
                + ", pid " + pid + slurm.map(PlacementReport::place).orElse("");
    }

    private static String name(Gpu gpu) {
        return "GPU " + gpu.index() + " (" + gpu.name() + ", PCI " + gpu.pciId() + ")";
    }

    private static String place(SlurmPlace slurm) {
        return ", Slurm job " + slurm.job()
                + slurm.task()
                        .map(task -> ", step " + task.step() + ", SLURM_PROCID " + task.number())
                        .orElse("");
    }
}
