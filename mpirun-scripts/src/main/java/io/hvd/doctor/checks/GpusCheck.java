package io.hvd.doctor.checks;

import io.hvd.config.HvdProgram;
import io.hvd.doctor.facts.HostInventory;
import io.hvd.doctor.facts.HostInventory.Host;
import io.hvd.transport.nccl.report.GpuReport;
import io.hvd.transport.nccl.report.GpuReport.Row;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

/** Whether every rank has a GPU, and every host the same. A job without any GPU is a job, too. */
final class GpusCheck implements Check {

    private static final String SHARE = "HVD_SHARE_GPU";
    private static final String PIN = "HVD_PIN_GPU";
    private static final String BACKEND = "HVD_BACKEND";
    private static final String PER_RANK = "HVD_GPUS_PER_RANK";

    @Override
    public List<Finding> findings(HostInventory inventory) {
        if (inventory.hosts().stream().anyMatch(GpusCheck::computesOnTheCpu)) {
            return List.of();
        }
        List<Finding> found = new ArrayList<>();
        if (inventory.hosts().stream().noneMatch(GpusCheck::hasGpu)) {
            return Check.each(inventory, Diagnosis.NO_GPU, host -> gpu(host).obstacle(), details());
        }
        for (Host host : inventory.hosts()) {
            int each = perRank(host);
            if (gpu(host).gpus() < host.ranks() * each && areCounted(host)) {
                found.add(new Finding(
                        Diagnosis.FEW_GPUS,
                        List.of(host.name()),
                        host.ranks() + " ranks" + (each > 1 ? " of " + each + " GPUs each (" + PER_RANK + ")" : "")
                                + " and " + gpu(host).gpus() + " GPUs",
                        HvdProgram.HOROVODRUN.line() + " -np "
                                + inventory.hosts().stream()
                                        .mapToInt(one -> Math.min(one.ranks(), gpu(one).gpus() / perRank(one)))
                                        .sum()));
            }
        }
        found.addAll(Check.same(inventory, Diagnosis.GPUS_DIFFER, "GPUs", GpusCheck::table, details()));
        found.addAll(Check.each(
                inventory, Diagnosis.NO_NCCL, host -> hasGpu(host) ? gpu(host).obstacle() : "", details()));
        return found;
    }

    private static String details() {
        return HvdProgram.HOROVODRUN.line() + " --check-build";
    }

    /** The setting must be the same everywhere; what asks for mpi takes no GPU. */
    private static boolean computesOnTheCpu(Host host) {
        return "mpi".equalsIgnoreCase(host.facts().values().get(BACKEND));
    }

    /** Settings are among the values only where they are not at their defaults. */
    private static boolean areCounted(Host host) {
        return !host.facts().values().containsKey(SHARE)
                && !host.facts().values().containsKey(PIN);
    }

    /** How many GPUs each rank needs. The variable is missing if it is one; the ranks compare it at init. */
    private static int perRank(Host host) {
        return Integer.parseInt(host.facts().values().getOrDefault(PER_RANK, "1"));
    }

    private static GpuReport gpu(Host host) {
        return host.facts().gpu();
    }

    private static boolean hasGpu(Host host) {
        return gpu(host).gpus() > 0;
    }

    /** What must be alike: everything but the places in which cards and files lie. */
    private static String table(Host host) {
        return gpu(host).gpus() + " with "
                + gpu(host).rows().stream()
                        .filter(row -> !row.found().isEmpty() && !row.item().startsWith("CUDA_VISIBLE"))
                        .map(GpusCheck::row)
                        .collect(Collectors.joining(", "));
    }

    private static String row(Row row) {
        return row.item() + " " + row.found().replaceFirst(", .*", "");
    }
}
