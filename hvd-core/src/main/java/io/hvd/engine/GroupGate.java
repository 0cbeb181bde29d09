package io.hvd.engine;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Holds the operations of a group back until the last of them is ready on every rank. */
final class GroupGate {
    private final Map<String, List<Tally>> groups = new HashMap<>();
    /** What has been carried out of a group before a static plan was left; the rest of it does not wait for that. */
    private final Map<String, Integer> done = new HashMap<>();

    /** A static plan has been left in the middle of a group. */
    void begun(String group, int operations) {
        done.put(group, operations);
    }

    /** @return the whole group in the order in which it became ready, if this was the last of it */
    Optional<List<Tally>> arrived(Tally tally) {
        Request.Group group = tally.first().group();
        List<Tally> tallies = groups.computeIfAbsent(group.name(), name -> new ArrayList<>());
        tallies.add(tally);
        if (tallies.size() + done.getOrDefault(group.name(), 0) < group.members()) {
            return Optional.empty();
        }
        groups.remove(group.name());
        done.remove(group.name());
        return Optional.of(tallies);
    }

    /** Something is wrong with one of a group. @return those of it that have arrived so far */
    List<Tally> forget(String group) {
        List<Tally> tallies = groups.remove(group);
        done.remove(group);
        return tallies == null ? List.of() : tallies;
    }

    boolean isEmpty() {
        return groups.isEmpty() && done.isEmpty();
    }
}
