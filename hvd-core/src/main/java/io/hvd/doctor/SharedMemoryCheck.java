package io.hvd.doctor;

import io.hvd.doctor.Facts.Folder;
import io.hvd.doctor.Patient.Host;
import java.util.ArrayList;
import java.util.List;

/** Whether the ranks of one host can talk through /dev/shm. */
final class SharedMemoryCheck implements Check {

    /** Twice the 4 MiB that a rank takes under Open MPI, which leaves room for NCCL and for what others left behind. */
    private static final long BYTES_PER_RANK = 8 * Sizes.MIB;

    @Override
    public List<Finding> findings(Patient patient) {
        List<Finding> found = new ArrayList<>(Check.each(
                patient, Diagnosis.NO_SHM, SharedMemoryCheck::missing, "mount -t tmpfs -o size=1g tmpfs /dev/shm"));
        found.addAll(Check.each(
                patient, Diagnosis.SMALL_SHM, SharedMemoryCheck::small, "mount -o remount,size=1g /dev/shm"));
        return found;
    }

    private static String missing(Host host) {
        Folder shared = host.facts().folders().sharedMemory();
        return shared.writable() ? "" : shared.path() + (shared.total() == 0 ? " is not there" : " cannot be written");
    }

    private static String small(Host host) {
        Folder shared = host.facts().folders().sharedMemory();
        long needed = host.ranks() * BYTES_PER_RANK;
        return host.ranks() < 2 || !shared.writable() || shared.free() >= needed
                ? ""
                : shared.path() + " has " + Sizes.of(shared.free()) + " free of " + Sizes.of(shared.total()) + ", "
                        + host.ranks() + " ranks want " + Sizes.of(needed);
    }
}
