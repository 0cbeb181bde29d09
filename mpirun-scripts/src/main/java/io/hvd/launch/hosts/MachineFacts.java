package io.hvd.launch.hosts;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;

/**
 * Facts about the machine the launcher runs on.
 *
 * @param hostname what it calls itself
 * @param cores cores that ranks can compute on at the same time: physical ones, within affinity and quota
 * @param uid numeric user id
 * @param container whether this is a container
 * @param fabric the high-speed network found, in words, or empty
 * @param sharedMemoryBytes free in /dev/shm; empty where there is none
 * @param names host names and addresses that mean this machine
 * @param interfaces names of the network interfaces
 * @param environment what the job inherits
 */
public record MachineFacts(
        String hostname,
        int cores,
        int uid,
        boolean container,
        Optional<String> fabric,
        OptionalLong sharedMemoryBytes,
        Set<String> names,
        Set<String> interfaces,
        Map<String, String> environment) {

    /** Whether a host of the host list is this machine; a full name matches its first label. */
    public boolean is(String host) {
        boolean address = host.matches("[0-9.]+");
        return names.contains(host) || !address && names.contains(host.replaceFirst("\\..*", ""));
    }

    /** The hosts that a resource manager has settled on, as far as they are known here. */
    public List<HostSlots> allocated() {
        return SlurmAllocation.of(environment).map(SlurmAllocation::hosts).orElse(List.of());
    }
}
