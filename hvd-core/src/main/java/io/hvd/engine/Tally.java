package io.hvd.engine;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** What the ranks of a process set have asked for under one name so far. */
final class Tally {
    private final List<Request> requests;
    private long since;
    /** The number in the response cache under which all have asked, as long as they have. */
    private int number;

    private Request first;
    private int asked;

    /** @param since when the first rank asked, in nanoseconds of any clock */
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

    /** What the first rank has asked for. */
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

    /** How long the ranks that have come to a barrier with a limit wait for the others. */
    long limitMillis() {
        return ((Request.Barrier) first).limitMillis();
    }

    /** When they wait no longer. */
    long deadline() {
        return since + TimeUnit.MILLISECONDS.toNanos(limitMillis());
    }

    /** The time until now does not count. */
    void postpone(long nanos) {
        since += nanos;
    }

    /** By rank; null where a rank has not asked. */
    List<Request> requests() {
        return requests;
    }

    /** What all of them have asked for, each of whom has asked for such a thing. */
    <R extends Request> List<R> requests(Class<R> family) {
        return requests.stream().map(family::cast).toList();
    }

    Plan.Op op() {
        return new Plan.Op(name(), number);
    }

    /** @param excused ranks that need not ask */
    boolean isComplete(Set<Integer> excused) {
        return first instanceof Moving.Transfer
                ? asked == 2
                : missing().stream().allMatch(excused::contains);
    }

    /** Names of the groups that ranks have put it into; more than one, or not the same for all, is a mismatch. */
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
