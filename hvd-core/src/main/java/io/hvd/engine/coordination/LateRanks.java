package io.hvd.engine.coordination;

import io.hvd.engine.message.Batch;
import io.hvd.engine.message.Request;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/** Remembers the ranks that came too late for a barrier with a limit, so that they are told as well when they come. */
final class LateRanks {
    private final Map<String, Set<Integer>> expected = new HashMap<>();
    private final Map<String, String> errors = new HashMap<>();
    private final List<Batch> refusals = new ArrayList<>();

    /** The other ranks wait no longer; returns their refusal. */
    Batch gaveUp(Tally tally, String error) {
        expected.put(tally.name(), new TreeSet<>(tally.missing()));
        errors.put(tally.name(), error);
        return new Batch.Refusal(tally.name(), Batch.Reason.TIMED_OUT, error, tally.askers());
    }

    /** True if a request comes too late; the next plan then contains its refusal. */
    boolean isTooLate(int rank, Request request) {
        Set<Integer> ranks = expected.get(request.name());
        if (ranks == null || !ranks.remove(rank)) {
            return false;
        }
        refusals.add(
                new Batch.Refusal(request.name(), Batch.Reason.TIMED_OUT, errors.get(request.name()), List.of(rank)));
        if (ranks.isEmpty()) {
            expected.remove(request.name());
            errors.remove(request.name());
        }
        return true;
    }

    /** From here on the ranks may use the names of past barriers again. */
    void forget() {
        expected.clear();
        errors.clear();
    }

    List<Batch> refusals() {
        List<Batch> due = List.copyOf(refusals);
        refusals.clear();
        return due;
    }
}
