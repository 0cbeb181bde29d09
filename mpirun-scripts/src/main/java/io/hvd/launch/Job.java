package io.hvd.launch;

import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/**
 * What is asked for together with what there is: all that the mpirun line depends on.
 *
 * @param others names of the network interfaces of the other hosts, as far as they have been asked
 */
record Job(LaunchSettings settings, Machine machine, MpiVersion version, Map<String, Set<String>> others) {

    /** How many ranks land on this machine: mpirun fills the hosts in their order. 0 if nobody here knows the hosts. */
    int ranksHere() {
        List<HostSlots> hosts = settings.hosts().isEmpty() ? machine.allocated() : settings.hosts();
        if (hosts.isEmpty()) {
            return machine.allocation().isPresent() ? 0 : settings.ranks();
        }
        int left = settings.ranks();
        int here = 0;
        for (HostSlots host : hosts) {
            int placed = Math.min(left, host.slots());
            here += machine.is(host.host()) ? placed : 0;
            left -= placed;
        }
        return here;
    }

    boolean allRanksHere() {
        return ranksHere() == settings.ranks();
    }

    UserChoices choices() {
        return new UserChoices(settings.words().more(), machine.environment());
    }

    /** Whether the user has given a variable a value, here or by {@code --mpi-args "-x NAME"}. */
    boolean isSet(String variable) {
        return machine.environment().containsKey(variable)
                || choices().source("-x " + variable).isPresent();
    }

    /** Names of the network interfaces of all hosts that are known. */
    Set<String> interfaces() {
        Set<String> all = new TreeSet<>(machine.interfaces());
        others.values().forEach(all::addAll);
        return all;
    }
}
