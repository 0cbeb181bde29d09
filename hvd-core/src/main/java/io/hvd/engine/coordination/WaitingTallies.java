package io.hvd.engine.coordination;

import io.hvd.engine.message.Plan;
import io.hvd.engine.message.Request;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;

/**
 * The requests that some ranks of a process set have made and others have not, in the order of the first rank's
 * request.
 */
final class WaitingTallies {
    private final int size;
    private final Map<String, Tally> byName = new LinkedHashMap<>();

    /** @param size number of ranks */
    WaitingTallies(int size) {
        this.size = size;
    }

    /**
     * A rank asks for something.
     *
     * @param number the request's number in the response cache, or {@link Plan.Op#UNKNOWN}
     * @param excused ranks that need not ask
     * @return the tally if it is complete; it is removed then
     */
    Optional<Tally> want(int rank, Request request, int number, long now, Set<Integer> excused) {
        Tally tally = byName.computeIfAbsent(request.name(), name -> new Tally(size, now));
        tally.set(rank, request, number);
        if (!tally.isComplete(excused)) {
            return Optional.empty();
        }
        byName.remove(request.name());
        return Optional.of(tally);
    }

    /** Removes and returns the tallies that fulfil a condition. */
    List<Tally> take(Predicate<Tally> which) {
        List<Tally> taken = new ArrayList<>();
        for (Iterator<Tally> all = byName.values().iterator(); all.hasNext(); ) {
            Tally tally = all.next();
            if (which.test(tally)) {
                all.remove();
                taken.add(tally);
            }
        }
        return taken;
    }

    /** Removes and returns the tallies whose limit has passed. */
    List<Tally> takeOverdue(long now) {
        return take(tally -> tally.hasLimit() && tally.deadline() <= now);
    }

    /** Nanoseconds until the next limit passes. */
    long nanosUntilDue(long now) {
        return byName.values().stream()
                .filter(Tally::hasLimit)
                .mapToLong(tally -> Math.max(0, tally.deadline() - now))
                .min()
                .orElse(Long.MAX_VALUE);
    }

    /** See {@link Negotiation#postpone}. */
    void postpone(long listened, long now) {
        byName.values().stream()
                .filter(tally -> tally.hasLimit() && tally.deadline() <= now && listened < tally.deadline())
                .forEach(tally -> tally.postpone(now - Math.max(listened, tally.since())));
    }

    /** Whether all waiting operations have one of these names. */
    boolean isNothingBut(Collection<String> names) {
        return names.containsAll(byName.keySet());
    }

    void clear() {
        byName.clear();
    }
}
