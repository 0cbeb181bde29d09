package io.hvd.engine;

import java.util.ArrayList;
import java.util.List;

/**
 * Puts operations that may share one buffer together, in the order in which they became ready,
 * looking past those that do not fit. A pure function, so that a plan can be tested as a value.
 */
final class FusionPlanner {
    private FusionPlanner() {}

    /** Operations that may be carried out as one. */
    record Fused(List<Slot> slots) {
        Request first() {
            return slots.get(0).first();
        }
    }

    /**
     * @param ready agreed operations, of one kind per fused batch
     * @param thresholdBytes most that a fused batch may carry; a single larger operation still runs
     *     alone, and with 0 all do
     */
    static List<Fused> fuse(List<Slot> ready, long thresholdBytes) {
        List<Open> open = new ArrayList<>();
        for (Slot slot : ready) {
            Open batch = open.stream()
                    .filter(candidate -> candidate.takes(slot, thresholdBytes))
                    .findFirst()
                    .orElse(null);
            if (batch == null) {
                batch = new Open(slot);
                open.add(batch);
            }
            batch.add(slot);
        }
        return open.stream().map(batch -> new Fused(List.copyOf(batch.slots))).toList();
    }

    private static final class Open {
        private final Slot first;
        private final List<Slot> slots = new ArrayList<>();
        private long bytes;

        Open(Slot first) {
            this.first = first;
        }

        /** Ranks that have joined stand in for all of a batch or for none of it: scale factors go by batch. */
        boolean takes(Slot slot, long thresholdBytes) {
            Request request = slot.first();
            return thresholdBytes > 0
                    && first.first().fusesWith(request)
                    && bytes + request.wireBytes() <= thresholdBytes
                    && first.isMissingTheSame(slot);
        }

        void add(Slot slot) {
            slots.add(slot);
            bytes += slot.first().wireBytes();
        }
    }
}
