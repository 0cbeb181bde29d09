package io.hvd.engine.coordination;

import io.hvd.engine.message.Request;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Holds the operations of a group back until the last of them is ready on every rank. */
final class GroupGate {
    private final Map<String, List<Tally>> groups = new HashMap<>();
    /**
     * The number of operations of a group that were carried out before a static plan was left; the rest does not wait
     * for them.
     */
    private final Map<String, Integer> done = new HashMap<>();

    /** A static plan has been left when so many operations of a group were carried out. */
    void begun(String group, int operations) {
        done.put(group, operations);
    }

    /** @return the whole group in the order in which it became ready, if this was its last operation */
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

    /**
     * Forgets a group of which an operation is refused.
     *
     * @return the operations of the group that have arrived so far
     */
    List<Tally> forget(String group) {
        List<Tally> tallies = groups.remove(group);
        done.remove(group);
        return tallies == null ? List.of() : tallies;
    }

    boolean isEmpty() {
        return groups.isEmpty() && done.isEmpty();
    }
}
