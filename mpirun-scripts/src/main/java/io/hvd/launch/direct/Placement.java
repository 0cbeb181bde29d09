package io.hvd.launch.direct;

import io.hvd.launch.hosts.HostSlots;
import io.hvd.launch.line.LaunchFacts;
import io.hvd.launch.words.UsageException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Places the ranks of a job: the slots of each host are filled before those of the next, as mpirun does it by slot. */
final class Placement {

    private final LaunchFacts job;
    /** The number of ranks by host; all names of this machine are one host. */
    private final Map<String, Integer> counts = new LinkedHashMap<>();

    private Placement(LaunchFacts job) {
        this.job = job;
    }

    /** @throws UsageException if the hosts have fewer slots than there are ranks, or nobody says how many they have */
    static List<PlannedRank> of(LaunchFacts job) {
        var placement = new Placement(job);
        placement.fill();
        return placement.ranks();
    }

    private void fill() {
        int left = job.settings().ranks();
        if (job.hosts().isEmpty()) {
            counts.put(job.machine().hostname(), left);
            return;
        }
        for (HostSlots host : job.hosts()) {
            int placed = Math.min(left, host.slots());
            if (placed > 0) {
                String name = job.machine().is(host.host()) ? job.machine().hostname() : host.host();
                counts.merge(name, placed, Integer::sum);
            }
            left -= placed;
        }
        if (left > 0) {
            throw new UsageException(
                    "np-exceeds-slots",
                    "-np " + job.settings().ranks() + " requests "
                            + job.settings().ranks() + " ranks, but "
                            + HostSlots.join(job.hosts()) + " has " + HostSlots.total(job.hosts())
                            + " slots; name the hosts with their slots, as in -H a:4,b:4");
        }
    }

    private List<PlannedRank> ranks() {
        List<PlannedRank> ranks = new ArrayList<>();
        List<Integer> sizes = List.copyOf(counts.values());
        int number = 0;
        for (String host : counts.keySet()) {
            for (int local = 0; local < sizes.get(number); local++) {
                int localRank = local;
                int before = (int) sizes.subList(0, number).stream()
                        .filter(size -> size > localRank)
                        .count();
                int all = (int) sizes.stream().filter(size -> size > localRank).count();
                ranks.add(new PlannedRank(
                        ranks.size(),
                        job.settings().ranks(),
                        host,
                        host.equals(job.machine().hostname()),
                        local,
                        sizes.get(number),
                        before,
                        all));
            }
            number++;
        }
        return ranks;
    }
}
