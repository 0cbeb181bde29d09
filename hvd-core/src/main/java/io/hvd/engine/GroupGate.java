package io.hvd.engine;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Holds the operations of a group back until the last of them is ready on every rank. */
final class GroupGate {
    private final Map<String, Waiting> groups = new HashMap<>();

    /**
     * @param slots in the order in which they became ready
     * @param error what is wrong with one of them, which makes it the error of all; or empty
     */
    record Complete(List<Slot> slots, String error) {}

    /** @return the whole group, if this was the last of it */
    Optional<Complete> arrived(Slot slot, Optional<String> error) {
        Request.Group group = slot.first().group();
        Waiting waiting = groups.computeIfAbsent(group.name(), name -> new Waiting());
        waiting.slots.add(slot);
        if (waiting.error.isEmpty()) {
            waiting.error = error.orElse("");
        }
        if (waiting.slots.size() < group.members()) {
            return Optional.empty();
        }
        groups.remove(group.name());
        return Optional.of(new Complete(waiting.slots, waiting.error));
    }

    boolean isEmpty() {
        return groups.isEmpty();
    }

    private static final class Waiting {
        private final List<Slot> slots = new ArrayList<>();
        private String error = "";
    }
}
