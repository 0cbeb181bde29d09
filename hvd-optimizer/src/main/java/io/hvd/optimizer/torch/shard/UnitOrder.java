package io.hvd.optimizer.torch.shard;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** In which order the units' forwards are called, so that the next one can be gathered ahead. The same on all ranks, which run alike. */
final class UnitOrder<U> {
    /** The calls of the last pass that has run backward; none before the first. */
    private List<U> learnt = List.of();
    /** The calls since then that backward has not run through. */
    private final List<U> calls = new ArrayList<>();
    /** Place in {@link #learnt} of the last call. */
    private int forward = -1;
    /** Place in {@link #calls} that backward has come to. */
    private int backward = -1;

    /** Notes a call; without a graph backward will not come to it. @return the unit that was called next the last time */
    Optional<U> called(U unit, boolean hasGraph) {
        if (hasGraph) {
            calls.add(unit);
            backward = calls.size();
        }
        forward = placeOf(unit);
        return forward >= 0 && forward + 1 < learnt.size() ? Optional.of(learnt.get(forward + 1)) : Optional.empty();
    }

    /** The unit that was called first the last time. */
    Optional<U> first() {
        return learnt.stream().findFirst();
    }

    /** Behind the last call, or else from the start. */
    private int placeOf(U unit) {
        for (int place = forward + 1; place < learnt.size(); place++) {
            if (learnt.get(place) == unit) {
                return place;
            }
        }
        return learnt.indexOf(unit);
    }

    /** Backward has come to a call of the unit. @return the unit that it will come to next */
    Optional<U> reached(U unit) {
        for (int place = Math.min(backward, calls.size()) - 1; place >= 0; place--) {
            if (calls.get(place) == unit) {
                backward = place;
                return place > 0 ? Optional.of(calls.get(place - 1)) : Optional.empty();
            }
        }
        return Optional.empty();
    }

    /** The units that backward is to come to, last called first. */
    List<U> called() {
        List<U> reversed = new ArrayList<>();
        for (int place = calls.size() - 1; place >= 0; place--) {
            if (!reversed.contains(calls.get(place))) {
                reversed.add(calls.get(place));
            }
        }
        return reversed;
    }

    /** Backward has run. */
    void passed() {
        if (!calls.isEmpty()) {
            learnt = List.copyOf(calls);
        }
        forget();
    }

    /** There will be no backward of the calls since the last one. */
    void forget() {
        calls.clear();
        forward = -1;
        backward = -1;
    }
}
