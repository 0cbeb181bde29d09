package io.hvd.doctor.checks;

import io.hvd.doctor.facts.HostInventory;
import io.hvd.doctor.facts.HostInventory.Host;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Function;

/** Judges what is known of the hosts; a pure function. */
public interface Check {

    List<Finding> findings(HostInventory inventory);

    /** In the order of the report. */
    List<Check> ALL = List.of(
            new MpiCheck(),
            new StartCheck(),
            new JavaCheck(),
            new GpusCheck(),
            new MemoryCheck(),
            new SharedMemoryCheck(),
            new LimitsCheck(),
            new NamesCheck(),
            new NetworkCheck());

    /** One finding for all hosts of which the same is to be said; none where nothing is. */
    static List<Finding> each(
            HostInventory inventory, Diagnosis diagnosis, Function<Host, String> say, String command) {
        return inventory.by(say).entrySet().stream()
                .map(group -> new Finding(diagnosis, HostInventory.names(group.getValue()), group.getKey(), command))
                .toList();
    }

    /** One finding if the hosts do not all say the same; those that say nothing do not count. */
    static List<Finding> same(
            HostInventory inventory, Diagnosis diagnosis, String what, Function<Host, String> say, String command) {
        Map<String, List<Host>> groups = inventory.by(say);
        if (groups.size() < 2) {
            return List.of();
        }
        List<String> said = new ArrayList<>();
        List<String> hosts = new ArrayList<>();
        groups.forEach((value, those) -> {
            said.add(value + " on " + String.join(", ", HostInventory.names(those)));
            hosts.addAll(HostInventory.names(those));
        });
        return List.of(new Finding(diagnosis, hosts, what + ": " + String.join("; ", said), command));
    }
}
