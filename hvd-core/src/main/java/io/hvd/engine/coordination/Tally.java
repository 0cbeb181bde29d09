package io.hvd.engine.coordination;

import io.hvd.engine.message.Moving;
import io.hvd.engine.message.Plan;
import io.hvd.engine.message.Request;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** The ranks of a process set that have asked for one name so far, and what each of them has asked for. */
final class Tally {
    private final List<Request> requests;
    private long since;
    /** The number in the response cache that all ranks have given so far, or {@link Plan.Op#UNKNOWN}. */
    private int number;

    private Request first;
    private int asked;

    /** @param since when the first rank asked, in nanoseconds of any monotonic clock */
    Tally(int size, long since) {
        this.requests = new ArrayList<>(Collections.nCopies(size, null));
        this.since = since;
    }

    /** @param known number in the response cache, or {@link Plan.Op#UNKNOWN} */
    void set(int rank, Request request, int known) {
        number = first == null || number == known ? known : Plan.Op.UNKNOWN;
        first = first == null ? request : first;
        asked += requests.set(rank, request) == null ? 1 : 0;
    }

    /** The request of the rank that asked first. */
    Request first() {
        return first;
    }

    String name() {
        return first.name();
    }

    long since() {
        return since;
    }

    boolean hasLimit() {
        return first.hasLimit();
    }

    /** How long the ranks at a barrier with a limit wait for the others, in milliseconds. */
    long limitMillis() {
        return ((Request.Barrier) first).limitMillis();
    }

    /** The time at which the limit passes. */
    long deadline() {
        return since + TimeUnit.MILLISECONDS.toNanos(limitMillis());
    }

    /** Moves the limit by so many nanoseconds. */
    void postpone(long nanos) {
        since += nanos;
    }

    /** The requests by rank; null where a rank has not asked. */
    List<Request> requests() {
        return requests;
    }

    /** The requests of all ranks, each of which has asked, as members of one family. */
    <R extends Request> List<R> requests(Class<R> family) {
        return requests.stream().map(family::cast).toList();
    }

    Plan.Op op() {
        return new Plan.Op(name(), number);
    }

    /** @param excused ranks that need not ask */
    boolean isComplete(Set<Integer> excused) {
        if (first instanceof Moving.Transfer) {
            return asked == 2;
        }
        // Nobody is looked for as long as too many are missing: each of many ranks comes here once for each name.
        return asked == requests.size()
                || asked + excused.size() >= requests.size()
                        && missing().stream().allMatch(excused::contains);
    }

    /**
     * Names of the groups to which the ranks' requests belong. Several groups, or a group that only some ranks name,
     * are a mismatch.
     */
    Set<String> groups() {
        return requests.stream()
                .filter(request -> request != null && !request.group().isNone())
                .map(request -> request.group().name())
                .collect(Collectors.toSet());
    }

    boolean isMissingTheSame(Tally other) {
        return asked == other.asked && (asked == requests.size() || missing().equals(other.missing()));
    }

    /** Number of ranks that have asked. */
    int asked() {
        return asked;
    }

    List<Integer> askers() {
        return IntStream.range(0, requests.size())
                .filter(rank -> requests.get(rank) != null)
                .boxed()
                .toList();
    }

    List<Integer> missing() {
        if (first instanceof Moving.Transfer half) {
            return asked == 2 ? List.of() : List.of(half.peer());
        }
        return IntStream.range(0, requests.size())
                .filter(rank -> requests.get(rank) == null)
                .boxed()
                .toList();
    }
}
