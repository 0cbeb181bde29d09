package io.hvd.engine;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;

/**
 * The coordinator: turns announcements into plans. It knows no thread, no channel and no clock; the
 * same announcements in the same order always give the same plans.
 */
public final class Negotiation {
    private final int size;
    private final long fusionThresholdBytes;
    private final Map<String, Slot> waiting = new LinkedHashMap<>();
    private final List<Slot> ready = new ArrayList<>();
    private final TreeSet<Integer> closed = new TreeSet<>();
    private String failure = "";
    private boolean stopped;

    public Negotiation(int size, long fusionThresholdBytes) {
        this.size = size;
        this.fusionThresholdBytes = fusionThresholdBytes;
    }

    /** Takes note of what a rank wants. */
    public void announce(int rank, Announcement announcement) {
        for (Request request : announcement.fresh()) {
            Slot slot = waiting.computeIfAbsent(request.name(), name -> new Slot(size));
            slot.set(rank, request);
            if (slot.isComplete()) {
                waiting.remove(request.name());
                ready.add(slot);
            }
        }
        if (announcement.closing()) {
            closed.add(rank);
        }
        if (!announcement.failure().isEmpty()) {
            fail(announcement.failure());
        }
    }

    /** A rank has gone without closing. The first cause is the one that counts. */
    public void lose(int rank, String why) {
        if (!closed.contains(rank)) {
            fail("rank " + rank + " is gone: " + why);
        }
    }

    /** Everything that can be decided now; empty when there is nothing new. */
    public Plan next() {
        if (!failure.isEmpty()) {
            Plan plan = new Plan(List.of(), false, stopped ? "" : failure);
            stopped = true;
            return plan;
        }
        List<Plan.Batch> batches = new ArrayList<>();
        List<Request> fusable = new ArrayList<>();
        ready.forEach(slot -> decide(slot, fusable, batches));
        ready.clear();
        batches.addAll(FusionPlanner.fuse(fusable, fusionThresholdBytes));
        refuseWhatWaitsForClosedRanks(batches);
        boolean stop = closed.size() == size && !stopped;
        stopped |= stop;
        return new Plan(batches, stop, "");
    }

    private void fail(String why) {
        if (failure.isEmpty() && !stopped) {
            failure = why;
        }
    }

    private static void decide(Slot slot, List<Request> fusable, List<Plan.Batch> batches) {
        Request first = slot.requests.get(0);
        Mismatch.find(slot.requests)
                .ifPresentOrElse(
                        error -> batches.add(Plan.Batch.refuse(first.name(), Plan.Verdict.MISMATCH, error)), () -> {
                            switch (first.kind()) {
                                case ALLREDUCE, BROADCAST -> fusable.add(first);
                                case ALLGATHER ->
                                    batches.add(Plan.Batch.gather(
                                            first.name(),
                                            slot.requests.stream()
                                                    .map(request ->
                                                            request.shape().dim(0))
                                                    .toList()));
                                case BARRIER -> batches.add(Plan.Batch.run(List.of(first.name())));
                            }
                        });
    }

    private void refuseWhatWaitsForClosedRanks(List<Plan.Batch> batches) {
        if (closed.isEmpty()) {
            return;
        }
        for (Iterator<Map.Entry<String, Slot>> all = waiting.entrySet().iterator(); all.hasNext(); ) {
            Map.Entry<String, Slot> entry = all.next();
            List<Integer> gone = closed.stream()
                    .filter(rank -> entry.getValue().requests.get(rank) == null)
                    .toList();
            if (!gone.isEmpty()) {
                all.remove();
                batches.add(Plan.Batch.refuse(
                        entry.getKey(),
                        Plan.Verdict.RANK_GONE,
                        "tensor \"" + entry.getKey() + "\" can never be complete: ranks " + RankSet.format(gone)
                                + " have closed their context without submitting it"));
            }
        }
    }

    /** What the ranks have asked for under one name so far. */
    private static final class Slot {
        private final List<Request> requests;
        private int missing;

        Slot(int size) {
            requests = new ArrayList<>(java.util.Collections.nCopies(size, null));
            missing = size;
        }

        void set(int rank, Request request) {
            missing -= requests.set(rank, request) == null ? 1 : 0;
        }

        boolean isComplete() {
            return missing == 0;
        }
    }
}
