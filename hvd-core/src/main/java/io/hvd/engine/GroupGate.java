package io.hvd.engine;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Holds the operations of a group back until the last of them is ready on every rank. */
final class GroupGate {
    private final Map<String, List<Slot>> groups = new HashMap<>();
    /** What has been carried out of a group before a static plan was left; the rest of it does not wait for that. */
    private final Map<String, Integer> done = new HashMap<>();

    /** A static plan has been left in the middle of a group. */
    void begun(String group, int operations) {
        done.put(group, operations);
    }

    /** @return the whole group in the order in which it became ready, if this was the last of it */
    Optional<List<Slot>> arrived(Slot slot) {
        Request.Group group = slot.first().group();
        List<Slot> slots = groups.computeIfAbsent(group.name(), name -> new ArrayList<>());
        slots.add(slot);
        if (slots.size() + done.getOrDefault(group.name(), 0) < group.members()) {
            return Optional.empty();
        }
        groups.remove(group.name());
        done.remove(group.name());
        return Optional.of(slots);
    }

    /** Something is wrong with one of a group. @return those of it that have arrived so far */
    List<Slot> forget(String group) {
        List<Slot> slots = groups.remove(group);
        done.remove(group);
        return slots == null ? List.of() : slots;
    }

    boolean isEmpty() {
        return groups.isEmpty() && done.isEmpty();
    }
}
