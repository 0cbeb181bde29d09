package io.hvd.doctor.facts;

import io.hvd.doctor.network.MeasuredLink;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.function.Function;

/**
 * Everything that is known of the hosts of a job, for the checks to judge.
 *
 * @param hosts those that have answered
 * @param links one for each address of each host, seen from each other
 * @param heapBytes a rank's heap, if the user has said
 * @param nativeBytes what a rank takes outside the heap and hvd's buffers
 * @param interfaces the network interfaces that were asked for, or empty
 * @param ssh the words that reach a host, up to its name
 */
public record HostInventory(
        List<Host> hosts,
        List<MeasuredLink> links,
        OptionalLong heapBytes,
        long nativeBytes,
        String interfaces,
        String ssh) {

    /**
     * @param name the host's name in the host list
     * @param ranks the number of ranks that it is to have
     * @param here whether it is the host that hvd-doctor runs on
     */
    public record Host(String name, int ranks, boolean here, Facts facts) {}

    public boolean severalHosts() {
        return hosts.size() > 1;
    }

    /** The hosts of which this says the same, by what it says; those of which it says nothing are left out. */
    public Map<String, List<Host>> by(Function<Host, String> say) {
        Map<String, List<Host>> groups = new LinkedHashMap<>();
        for (Host host : hosts) {
            String said = say.apply(host);
            if (!said.isEmpty()) {
                groups.computeIfAbsent(said, any -> new ArrayList<>()).add(host);
            }
        }
        return groups;
    }

    /** This inventory without one of the hosts, and without what was measured. */
    public HostInventory without(Host one) {
        List<Host> others = hosts.stream().filter(host -> host != one).toList();
        return new HostInventory(others, List.of(), heapBytes, nativeBytes, interfaces, ssh);
    }

    /** A command for a host, as typed on this one. */
    public String on(String host, String command) {
        return ssh + " " + host + " " + command;
    }

    public static List<String> names(List<Host> hosts) {
        return hosts.stream().map(Host::name).toList();
    }
}
