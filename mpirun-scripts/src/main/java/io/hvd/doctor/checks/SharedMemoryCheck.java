package io.hvd.doctor.checks;

import io.hvd.doctor.facts.Facts.Folder;
import io.hvd.doctor.facts.HostInventory;
import io.hvd.doctor.facts.HostInventory.Host;
import io.hvd.host.shm.SegmentSize;
import java.util.ArrayList;
import java.util.List;

/** Whether the ranks of one host can talk through /dev/shm. */
final class SharedMemoryCheck implements Check {

    /** Twice the 4 MiB that a rank takes under Open MPI, which leaves room for NCCL and for what others left behind. */
    private static final long BYTES_PER_RANK = 8 * Sizes.MIB;

    /** Set where it is off, which is not the default. */
    private static final String SWITCH = "HVD_SHARED_MEMORY";

    @Override
    public List<Finding> findings(HostInventory inventory) {
        List<Finding> found = new ArrayList<>(Check.each(
                inventory, Diagnosis.NO_SHM, SharedMemoryCheck::missing, "mount -t tmpfs -o size=1g tmpfs /dev/shm"));
        List<Host> used =
                inventory.hosts().stream().filter(host -> host.ranks() > 0).toList();
        int ranks = used.stream().mapToInt(Host::ranks).sum();
        found.addAll(Check.each(
                inventory,
                Diagnosis.SMALL_SHM,
                host -> small(host, segment(host, ranks, used.size())),
                "mount -o remount,size=1g /dev/shm"));
        return found;
    }

    private static String missing(Host host) {
        Folder shared = host.facts().folders().sharedMemory();
        return shared.writable() ? "" : shared.path() + (shared.total() == 0 ? " is not there" : " cannot be written");
    }

    /** The size of the memory that the ranks of a host share for the set of all ranks. */
    private static long segment(Host host, int ranks, int hosts) {
        return host.facts().values().containsKey(SWITCH) ? 0 : SegmentSize.bytes(host.ranks(), ranks, hosts);
    }

    private static String small(Host host, long segment) {
        Folder shared = host.facts().folders().sharedMemory();
        long needed = host.ranks() * BYTES_PER_RANK + segment;
        return host.ranks() < 2 || !shared.writable() || shared.free() >= needed
                ? ""
                : shared.path() + " has " + Sizes.of(shared.free()) + " free of " + Sizes.of(shared.total()) + ", "
                        + host.ranks() + " ranks want " + Sizes.of(needed);
    }
}
