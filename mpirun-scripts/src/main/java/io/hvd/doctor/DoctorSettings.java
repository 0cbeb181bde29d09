package io.hvd.doctor;

import io.hvd.doctor.checks.Area;
import io.hvd.launch.hosts.HostSlots;
import io.hvd.launch.hosts.SshAccess;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.Set;

/**
 * The user's choices for hvd-doctor.
 *
 * @param hosts the hosts of the host list; none for this machine
 * @param ranks the number of ranks of the job whose needs are looked at
 * @param interfaces the network interfaces, with commas between them, or empty
 * @param heapBytes the heap of each rank
 * @param nativeBytes memory of a rank outside the JVM's heap and hvd's buffers
 * @param areas that are looked at
 * @param gloo whether the ranks are to start without MPI
 */
record DoctorSettings(
        List<HostSlots> hosts,
        OptionalInt ranks,
        SshAccess ssh,
        String interfaces,
        OptionalLong heapBytes,
        long nativeBytes,
        Set<Area> areas,
        boolean gloo,
        boolean json,
        boolean selfTest,
        boolean help,
        Optional<String> factsFor) {

    /** Ranks per host, in the order of the list: filled up to its slots, one host after the other, as mpirun does. */
    List<Integer> ranksPerHost(int coresHere) {
        if (hosts.isEmpty()) {
            return List.of(ranks.orElse(coresHere));
        }
        List<Integer> filled = new ArrayList<>();
        int left = ranks.orElse(HostSlots.total(hosts));
        for (HostSlots host : hosts) {
            int here = Math.min(left, host.slots());
            filled.add(here);
            left -= here;
        }
        return filled;
    }

    boolean measures() {
        return areas.contains(Area.NETWORK) || areas.contains(Area.CLOCK);
    }
}
