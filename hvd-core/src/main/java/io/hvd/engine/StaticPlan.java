package io.hvd.engine;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.IntStream;

/**
 * A step that every rank carries out on its own, batch by batch, without asking anybody: the ranks
 * meet in the data plane. A rank that is asked for anything else must veto the next batch, which takes
 * all ranks back to negotiating.
 */
final class StaticPlan {
    private final List<List<String>> batches;
    private final Map<String, Integer> batchOf = new HashMap<>();
    private final Map<String, Request> requests;
    private final List<Set<String>> here = new ArrayList<>();
    private int next;
    private boolean left;

    /** @param requests this rank's, by name, as they have been in every step */
    StaticPlan(List<List<String>> batches, Map<String, Request> requests) {
        this.batches = batches;
        this.requests = requests;
        for (int i = 0; i < batches.size(); i++) {
            here.add(new HashSet<>());
            for (String name : batches.get(i)) {
                batchOf.put(name, i);
            }
        }
    }

    /** The program has submitted an operation. */
    void submitted(Request request) {
        Integer batch = batchOf.get(request.name());
        if (batch == null || !requests.get(request.name()).equals(request) || beginsStepTooEarly(batch)) {
            left = true;
        } else {
            here.get(batch).add(request.name());
        }
    }

    /** An operation of a batch that has been passed belongs to the next step; if this one is not complete, it never will be. */
    private boolean beginsStepTooEarly(int batch) {
        return batch < next
                && IntStream.range(next, batches.size())
                        .anyMatch(i -> here.get(i).size() < batches.get(i).size());
    }

    /** The rank wants something that is not planned. */
    void leave() {
        left = true;
    }

    boolean isLeft() {
        return left;
    }

    /** Whether the whole of the next batch has been submitted. */
    boolean isDue() {
        return !left && missing() == 0;
    }

    /** Operations of the next batch that have not been submitted. */
    int missing() {
        return batches.get(next).size() - here.get(next).size();
    }

    /** Whether nothing has been submitted that is still to be carried out. */
    boolean isIdle() {
        return here.stream().allMatch(Set::isEmpty);
    }

    boolean isAtLastBatch() {
        return next == batches.size() - 1;
    }

    List<String> next() {
        return batches.get(next);
    }

    /** All of a step. */
    List<List<String>> batches() {
        return batches;
    }

    List<Request> nextRequests() {
        return next().stream().map(requests::get).toList();
    }

    /** The next batch has been carried out. */
    void advance() {
        here.get(next).clear();
        next = (next + 1) % batches.size();
    }
}
