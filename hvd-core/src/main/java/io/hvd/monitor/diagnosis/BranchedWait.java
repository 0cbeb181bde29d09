package io.hvd.monitor.diagnosis;

import io.hvd.monitor.view.CallView;
import io.hvd.monitor.view.Phrases;
import io.hvd.monitor.view.RankView;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * A wait for ranks that wait in another call themselves. It tells which ranks have left the usual way, if the calls
 * before it or the number of ranks show that.
 */
final class BranchedWait {
    private final CollectiveWait wait;
    private final Collection<RankView> views;
    private final Map<Integer, CallHistory> histories;
    private final SortedMap<Integer, CallView> instead = new TreeMap<>();

    private BranchedWait(CollectiveWait wait, Collection<RankView> views, Map<Integer, CallHistory> histories) {
        this.wait = wait;
        this.views = views;
        this.histories = histories;
        views.stream()
                .filter(view -> wait.missing().contains(view.rank()))
                .forEach(view -> insteadOf(view).ifPresent(call -> instead.put(view.rank(), call)));
    }

    /** Empty if a missing rank waits in no other call, or if no call before is remembered. */
    static Optional<CallDivergence> of(
            CollectiveWait wait, Collection<RankView> views, Map<Integer, CallHistory> histories) {
        if (!histories.containsKey(wait.waiting().firstKey())) {
            return Optional.empty();
        }
        BranchedWait branch = new BranchedWait(wait, views, histories);
        return branch.isSeen() ? Optional.of(branch.divergence()) : Optional.empty();
    }

    private boolean isSeen() {
        return instead.size() == wait.missing().size()
                && (teller().whole() || teller().before(call().number()).isPresent());
    }

    private int caller() {
        return wait.waiting().firstKey();
    }

    private CallView call() {
        return wait.waiting().get(caller());
    }

    private CallHistory teller() {
        return histories.get(caller());
    }

    /**
     * The call of the same set, or the end of the job, in which a missing rank waits. A call that the others have made
     * as well is on their way; it counts only if the missing rank has gone on beyond the one that it lacks.
     */
    private Optional<CallView> insteadOf(RankView view) {
        List<CallView> waiting = view.activity().pending().stream()
                .filter(call -> !call.key().equals(wait.key()))
                .filter(call -> call.key().processSet() == wait.key().processSet()
                        || call.key().kind().equals(CallView.CLOSE))
                .toList();
        return waiting.stream()
                .filter(call -> !isCalledBy(caller(), call))
                .findFirst()
                .or(() ->
                        waiting.stream().filter(call -> hasGoneOn(view.rank())).findFirst());
    }

    private CallDivergence divergence() {
        return new CallDivergence(teller(), call(), wait.missing(), words());
    }

    private String words() {
        if (wait.missing().stream().allMatch(this::hasGoneOn)) {
            return new MissedCall(teller(), call(), callers(), wait.missing(), true).words();
        }
        List<Way> others = others();
        Way own = new Way(call(), callers());
        return others.size() == 1
                ? words(own, others.get(0))
                : others.stream().map(Way::words).collect(Collectors.joining(", ")) + ", where " + own.words();
    }

    private String words(Way own, Way other) {
        Optional<CallLabel> expected = expected();
        if (isMoreUsual(own, other, expected)) {
            return own.isLeftBy(other, isPassedOver(own, other, expected));
        }
        return isMoreUsual(other, own, expected)
                ? other.isLeftBy(own, isPassedOver(other, own, expected))
                : own.words() + ", and " + other.words();
    }

    private SortedSet<Integer> callers() {
        return new TreeSet<>(wait.waiting().keySet());
    }

    /** Whether the steps before show it, or else the number of ranks. */
    private static boolean isMoreUsual(Way one, Way other, Optional<CallLabel> expected) {
        if (expected.filter(one::begins).isPresent()) {
            return true;
        }
        return expected.filter(other::begins).isEmpty()
                && one.ranks().size() > other.ranks().size();
    }

    /** Whether the usual call was expected, and the other one is known from earlier steps, where it came later. */
    private boolean isPassedOver(Way usual, Way left, Optional<CallLabel> expected) {
        return expected.filter(usual::begins).isPresent()
                && earlier().anyMatch(call -> left.begins(CallLabel.of(call).withoutCounter()));
    }

    /** The missing ranks by what they have called instead. */
    private List<Way> others() {
        Map<CallLabel, Way> ways = new LinkedHashMap<>();
        instead.forEach((rank, call) -> ways.computeIfAbsent(
                        CallLabel.of(call).withoutCounter(), label -> new Way(call, new TreeSet<>()))
                .ranks()
                .add(rank));
        return List.copyOf(ways.values());
    }

    /**
     * Whether a missing rank has made a call that another rank made after this one: it has ended, or the missing rank
     * waits in it too.
     */
    private boolean hasGoneOn(int rank) {
        return teller().after(call().number()).stream()
                .anyMatch(later -> later.isPending()
                        ? isCalledBy(rank, later)
                        : later.error().isEmpty());
    }

    private boolean isCalledBy(int rank, CallView call) {
        return views.stream()
                .filter(view -> view.rank() == rank)
                .anyMatch(view -> view.activity().waitingIn(call.key()).isPresent());
    }

    /** The call that has always come after the last common one, if there is only one such call. */
    private Optional<CallLabel> expected() {
        Optional<CallLabel> before =
                teller().before(call().number()).map(last -> CallLabel.of(last).withoutCounter());
        List<CallLabel> followers = before.stream()
                .flatMap(last -> histories.values().stream().flatMap(history -> followers(history, last)))
                .distinct()
                .toList();
        return followers.size() == 1 ? Optional.of(followers.get(0)) : Optional.empty();
    }

    private Stream<CallLabel> followers(CallHistory history, CallLabel last) {
        List<CallLabel> labels = earlier(history)
                .map(CallLabel::of)
                .map(CallLabel::withoutCounter)
                .toList();
        return Stream.iterate(1, i -> i < labels.size(), i -> i + 1)
                .filter(i -> labels.get(i - 1).equals(last))
                .map(labels::get);
    }

    private Stream<CallView> earlier() {
        return histories.values().stream().flatMap(this::earlier);
    }

    /** The calls that a rank made before the ranks parted. */
    private Stream<CallView> earlier(CallHistory history) {
        CallView parted = wait.waiting().getOrDefault(history.rank(), instead.get(history.rank()));
        return parted == null
                ? Stream.empty()
                : history.calls().stream().filter(call -> call.number() < parted.number());
    }

    /** A call, and the ranks that have made it where the ranks part. */
    private record Way(CallView call, SortedSet<Integer> ranks) {
        boolean begins(CallLabel label) {
            return CallLabel.of(call).withoutCounter().equals(label);
        }

        String words() {
            return Phrases.ranks(ranks) + " called " + CallLabel.words(call) + " at " + call.site();
        }

        /** Says that other ranks have not gone this way, which is the usual one. */
        String isLeftBy(Way other, boolean isPassedOver) {
            return isPassedOver
                    ? Phrases.ranks(other.ranks) + " left out " + CallLabel.words(call) + ", which "
                            + Phrases.ranks(ranks) + " called at " + call.site() + ", and went on to "
                            + CallLabel.words(other.call) + " at " + other.call.site()
                    : other.words() + ", where " + words();
        }
    }
}
