package io.hvd.engine.submission;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The {@link Slot} of every name in use, by process set. The {@link TensorQueue}'s lock guards all methods except
 * {@link #find}.
 */
final class SlotTable {
    /**
     * More names than a model has tensors. Operations without a name get a new one each time, and must not fill the
     * memory.
     */
    static final int MOST_IDLE_NAMES = 4096;

    private final Map<Integer, Map<String, Slot>> slots = new ConcurrentHashMap<>();

    private int names;
    /** When this many names are known, those that are not needed are forgotten. */
    private int mostNames = MOST_IDLE_NAMES;

    /** The slot of a name, or null; any thread may call this without the lock. */
    Slot find(int set, String name) {
        Map<String, Slot> ofSet = slots.get(set);
        return ofSet == null ? null : ofSet.get(name);
    }

    /** The slot of a name, made if there is none. */
    Slot get(int set, String name) {
        if (names >= mostNames) {
            forgetIdleNames();
            mostNames = Math.max(MOST_IDLE_NAMES, 2 * names);
        }
        return slots.computeIfAbsent(set, number -> new ConcurrentHashMap<>()).computeIfAbsent(name, missing -> {
            names++;
            return new Slot(set, missing);
        });
    }

    private void forgetIdleNames() {
        slots.values()
                .forEach(ofSet -> ofSet.values().removeIf(slot -> {
                    boolean idle = slot.pending == null && slot.keepers == 0 && !slot.isRemembered();
                    if (idle) {
                        retire(slot);
                    }
                    return idle;
                }));
    }

    /** Removes the names of a process set. */
    void remove(int set) {
        Map<String, Slot> gone = slots.remove(set);
        if (gone != null) {
            gone.values().forEach(this::retire);
        }
    }

    private void retire(Slot slot) {
        slot.retired = true;
        names--;
    }
}
