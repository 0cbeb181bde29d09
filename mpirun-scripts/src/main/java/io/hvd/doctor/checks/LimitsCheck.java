package io.hvd.doctor.checks;

import io.hvd.config.HvdProgram;
import io.hvd.doctor.facts.Facts.Folder;
import io.hvd.doctor.facts.Facts.Limits;
import io.hvd.doctor.facts.HostInventory;
import io.hvd.doctor.facts.HostInventory.Host;
import io.hvd.launch.mpi.OpenFileLimit;
import java.util.ArrayList;
import java.util.List;

/** Whether a host lets its ranks have the files, threads, locked memory, cores and folders that they need. */
final class LimitsCheck implements Check {

    private static final long OPEN_FILES = 1024;
    /** Threads of a rank: the JVM's, hvd's, LibTorch's and OpenBLAS' one per core. */
    private static final long THREADS_PER_RANK = 100;

    private static final long LOCKED_BYTES = Sizes.GIB;
    /** The size of the files that LibTorch unpacks at its first start. */
    private static final long CACHE_BYTES = 600 * Sizes.MIB;

    @Override
    public List<Finding> findings(HostInventory inventory) {
        List<Finding> found = new ArrayList<>();
        found.addAll(Check.each(inventory, Diagnosis.OPEN_FILES, LimitsCheck::openFiles, "ulimit -n 65536"));
        found.addAll(Check.each(inventory, Diagnosis.FEW_FILES, LimitsCheck::fewFiles, "ulimit -n 65536"));
        found.addAll(Check.each(inventory, Diagnosis.PROCESSES, LimitsCheck::processes, "ulimit -u 65536"));
        found.addAll(Check.each(inventory, Diagnosis.LOCKED_MEMORY, LimitsCheck::lockedMemory, "ulimit -l unlimited"));
        inventory.hosts().forEach(host -> found.addAll(fewCores(inventory, host)));
        found.addAll(Check.each(inventory, Diagnosis.NO_TMP, LimitsCheck::temporary, "export TMPDIR=$HOME/tmp"));
        found.addAll(Check.each(
                inventory,
                Diagnosis.FULL_CACHE,
                LimitsCheck::cache,
                "export JDK_JAVA_OPTIONS=-Dorg.bytedeco.javacpp.cachedir=/scratch/javacpp"));
        return found;
    }

    private static Limits limits(Host host) {
        return host.facts().limits();
    }

    private static boolean below(long limit, long needed) {
        return limit >= 0 && limit < needed;
    }

    private static String fewFiles(Host host) {
        long needed = OpenFileLimit.needed(host.ranks());
        return below(limits(host).openFiles(), needed)
                ? limits(host).openFiles() + " open files, " + host.ranks() + " ranks need " + needed
                : "";
    }

    private static String openFiles(Host host) {
        return below(limits(host).openFiles(), OPEN_FILES) && fewFiles(host).isEmpty()
                ? limits(host).openFiles() + " open files, expected at least " + OPEN_FILES
                : "";
    }

    private static String processes(Host host) {
        long needed = host.ranks() * THREADS_PER_RANK;
        return below(limits(host).processes(), needed)
                ? limits(host).processes() + " processes, " + host.ranks() + " ranks want about " + needed
                : "";
    }

    private static String lockedMemory(Host host) {
        return !limits(host).fabric().isEmpty() && below(limits(host).lockedMemory(), LOCKED_BYTES)
                ? Sizes.of(limits(host).lockedMemory()) + " of locked memory beside "
                        + limits(host).fabric()
                : "";
    }

    private static List<Finding> fewCores(HostInventory inventory, Host host) {
        int cores = limits(host).cores();
        if (host.ranks() <= cores) {
            return List.of();
        }
        int ranks = inventory.hosts().stream()
                .mapToInt(one -> Math.min(one.ranks(), limits(one).cores()))
                .sum();
        return List.of(new Finding(
                Diagnosis.FEW_CORES,
                List.of(host.name()),
                host.ranks() + " ranks on " + cores + " cores",
                HvdProgram.HOROVODRUN.line() + " -np " + ranks));
    }

    private static String temporary(Host host) {
        Folder folder = host.facts().folders().temporary();
        return folder.writable() ? "" : folder.path() + " cannot be written";
    }

    /** A cache that is there has been filled before. */
    private static String cache(Host host) {
        Folder folder = host.facts().folders().cache();
        boolean needed = host.facts().values().containsKey("LibTorch version")
                && !folder.path().endsWith("/.javacpp/cache");
        if (!needed || folder.writable() && folder.free() >= CACHE_BYTES) {
            return "";
        }
        return folder.path()
                + (folder.writable()
                        ? " has " + Sizes.of(folder.free()) + " free, LibTorch wants " + Sizes.of(CACHE_BYTES)
                        : " cannot be written");
    }
}
