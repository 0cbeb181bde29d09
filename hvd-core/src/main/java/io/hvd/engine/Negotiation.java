package io.hvd.engine;

import io.hvd.config.EngineSettings;
import io.hvd.engine.Plan.Batch;
import io.hvd.engine.Plan.Verdict;
import io.hvd.spi.OpKind;
import io.hvd.tensor.Device;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;

/**
 * The coordinator's work for one process set: turns announcements into plans. It knows no thread, no
 * channel and no clock; the same announcements in the same order always give the same plans. Inside,
 * ranks go by their number within the set.
 */
final class Negotiation {
    private final int set;
    private final List<Integer> members;
    private final EngineSettings settings;
    private final Arrivals arrivals;
    private final Predicate<Device> vetoes;
    private final Map<String, Tally> waiting = new LinkedHashMap<>();
    private final List<Tally> ready = new ArrayList<>();
    private final CoordinatorCache cache;
    private final Joining joining;
    private final GroupGate groups = new GroupGate();
    private final LateRanks late = new LateRanks();
    private final CallOrder order;
    private final StepWatch steps;
    private final TreeSet<Integer> closed = new TreeSet<>();
    /** What the plan in the making runs, by name. */
    private final Map<String, Tally> deciding = new HashMap<>();

    private int epoch;
    /** What ranks have asked for that know already that a static plan has been left, of which rank 0 has not heard. */
    private final List<Runnable> early = new ArrayList<>();

    private boolean mayLock;
    private boolean locked;

    /** @param members global ranks, ascending */
    Negotiation(int set, List<Integer> members, EngineSettings settings, Arrivals arrivals, Predicate<Device> vetoes) {
        this.arrivals = arrivals;
        this.vetoes = vetoes;
        this.set = set;
        this.members = List.copyOf(members);
        this.settings = settings;
        this.cache = new CoordinatorCache(settings.cacheCapacity(), members.size());
        this.joining = new Joining(members);
        this.order = settings.strict() ? new CallOrder(members) : null;
        this.steps = new StepWatch(settings.staticPlanSteps());
    }

    List<Integer> members() {
        return members;
    }

    /** Static plans need that no other process set can come between. */
    void mayLock(boolean allowed) {
        mayLock = allowed;
    }

    /**
     * Takes note of what a rank wants.
     *
     * @param rank global
     * @param now nanoseconds of any clock that runs on
     */
    void announce(int rank, Announcement.Wishes wishes, long now) {
        int self = members.indexOf(rank);
        cache.seen(self, wishes.seen());
        if (order != null) {
            for (int i = 0; i < wishes.fresh().size(); i++) {
                order.called(self, wishes.fresh().get(i), wishes.sites().get(i));
            }
            order.agreed().forEach(call -> want(call.rank(), call.request(), Plan.Op.UNKNOWN, now));
            return;
        }
        // What never waits for a change.
        wishes.fresh().stream().filter(Request::hasLimit).forEach(request -> want(self, request, Plan.Op.UNKNOWN, now));
        if (wishes.epoch() > epoch) {
            early.addAll(asked(self, wishes, now));
        } else if (wishes.epoch() == epoch) {
            asked(self, wishes, now).forEach(Runnable::run);
        } // else it was said before this rank knew of the change, and it says it again
    }

    private List<Runnable> asked(int self, Announcement.Wishes wishes, long now) {
        List<Runnable> asked = new ArrayList<>();
        wishes.known().stream().forEach(number -> {
            Request request = cache.request(number, self);
            asked.add(() -> want(self, request, number, now));
        });
        wishes.fresh().stream()
                .filter(request -> !request.hasLimit())
                .forEach(request -> asked.add(() -> want(self, request, Plan.Op.UNKNOWN, now)));
        return asked;
    }

    /** A rank has closed its context. */
    void close(int rank) {
        int self = members.indexOf(rank);
        closed.add(self);
        if (order != null) {
            order.close(self);
        }
    }

    /** All ranks have left the static plan. */
    void unlock(LeftPlan left) {
        epoch++;
        locked = false;
        steps.startOver(left.cut());
        left.begunGroups().forEach((group, done) -> groups.begun(group, done.size()));
        early.forEach(Runnable::run);
        early.clear();
    }

    /** Whether the ranks go through the steps of a static plan. */
    boolean isLocked() {
        return locked;
    }

    /** Everything that can be decided now; empty when there is nothing new. */
    Plan next(long now) {
        List<Batch> batches = new ArrayList<>();
        Map<String, Refusal> spoiled = new HashMap<>();
        if (order != null) {
            order.refusals().forEach(refused -> {
                batches.add(refused.batch());
                refused.groups().forEach(group -> spoiled.putIfAbsent(group, Refusal.of(refused.batch())));
            });
        }
        batches.addAll(late.refusals());
        releaseWhatJoinedRanksNeedNotAskFor();
        List<Tally> agreed = new ArrayList<>();
        decide(agreed, spoiled, batches);
        fuse(agreed, batches);
        joining.finished().ifPresent(end -> {
            batches.add(end);
            late.forget();
        });
        giveUpOnLateRanks(now, batches);
        refuseWhatWaitsForClosedRanks(batches);
        return plan(batches);
    }

    /** Nanoseconds until {@link #next} has something to say without a new announcement. */
    long nanosUntilDue(long now) {
        return waiting.values().stream()
                .filter(tally -> tally.first().hasLimit())
                .mapToLong(tally -> Math.max(0, deadline(tally) - now))
                .min()
                .orElse(Long.MAX_VALUE);
    }

    /**
     * Puts off the limits that have passed while nobody listened.
     *
     * @param listened until when announcements have been heard as they came
     */
    void postpone(long listened, long now) {
        waiting.values().stream()
                .filter(tally -> tally.first().hasLimit() && deadline(tally) <= now && listened < deadline(tally))
                .forEach(tally -> tally.postpone(now - Math.max(listened, tally.since())));
    }

    private void want(int rank, Request request, int number, long now) {
        arrivals.ready(set, request, members.get(rank));
        if (request.kind() == OpKind.JOIN) {
            joining.join(rank, request);
            return;
        }
        if (late.isTooLate(rank, request)) {
            return;
        }
        Tally tally = waiting.computeIfAbsent(request.name(), name -> new Tally(members.size(), now));
        tally.set(rank, request, number);
        if (tally.isComplete(joining.joined())) {
            waiting.remove(request.name());
            ready.add(tally);
        }
    }

    private void releaseWhatJoinedRanksNeedNotAskFor() {
        if (joining.joined().isEmpty()) {
            return;
        }
        for (Iterator<Tally> all = waiting.values().iterator(); all.hasNext(); ) {
            Tally tally = all.next();
            if (tally.isComplete(joining.joined())) {
                all.remove();
                ready.add(tally);
            }
        }
    }

    /** Why an operation is refused, and with it all that is left of its group. */
    private record Refusal(Verdict verdict, String why) {
        static Refusal of(Batch refused) {
            return new Refusal(refused.verdict(), refused.error());
        }

        Batch of(Tally tally) {
            return Batch.refuse(tally.name(), verdict, why, tally.askers());
        }
    }

    /** @param spoiled groups of which something has been refused */
    private void decide(List<Tally> agreed, Map<String, Refusal> spoiled, List<Batch> batches) {
        Map<Tally, Refusal> errors = new HashMap<>();
        for (Tally tally : ready) {
            error(tally).map(why -> new Refusal(Verdict.MISMATCH, why)).ifPresent(error -> {
                errors.put(tally, error);
                tally.groups().forEach(group -> spoiled.putIfAbsent(group, error));
            });
        }
        for (Tally tally : ready) {
            Optional<Refusal> error = Optional.ofNullable(errors.get(tally)).or(() -> spoiledBy(spoiled, tally));
            if (error.isPresent()) {
                batches.add(error.get().of(tally));
            } else if (tally.first().group().isNone()) {
                agreed.add(tally);
            } else {
                groups.arrived(tally).ifPresent(group -> fuseGroup(group, batches));
            }
        }
        ready.clear();
        refuseTheRestOf(spoiled, batches);
    }

    private Optional<String> error(Tally tally) {
        return tally.op().isKnown() && joining.joined().isEmpty()
                ? Optional.empty()
                : Mismatch.find(tally.requests(), members).or(() -> joining.refuses(tally));
    }

    /** What some ranks only have put into a group that is refused can never become complete. */
    private void refuseTheRestOf(Map<String, Refusal> spoiled, List<Batch> batches) {
        spoiled.forEach((group, refusal) -> groups.forget(group).forEach(tally -> batches.add(refusal.of(tally))));
        for (Iterator<Tally> all = waiting.values().iterator(); !spoiled.isEmpty() && all.hasNext(); ) {
            Tally tally = all.next();
            spoiledBy(spoiled, tally).ifPresent(refusal -> {
                all.remove();
                batches.add(refusal.of(tally));
            });
        }
    }

    private static Optional<Refusal> spoiledBy(Map<String, Refusal> errors, Tally tally) {
        return tally.groups().stream()
                .filter(errors::containsKey)
                .map(errors::get)
                .findFirst();
    }

    private void fuse(List<Tally> agreed, List<Batch> batches) {
        List<Tally> fusable = new ArrayList<>();
        for (Tally tally : agreed) {
            switch (tally.first().kind()) {
                case ALLREDUCE, BROADCAST -> fusable.add(tally);
                default -> batches.add(batch(List.of(tally)));
            }
        }
        FusionPlanner.fuse(fusable, settings.fusionThresholdBytes())
                .forEach(fused -> batches.add(batch(fused.tallies())));
    }

    /** A group travels as one, however large, as far as its types allow. */
    private void fuseGroup(List<Tally> tallies, List<Batch> batches) {
        boolean fusable = tallies.get(0).first().kind() == OpKind.ALLREDUCE;
        long threshold = !fusable ? 0 : settings.groupFusion() ? Long.MAX_VALUE : settings.fusionThresholdBytes();
        FusionPlanner.fuse(tallies, threshold).forEach(fused -> batches.add(batch(fused.tallies())));
    }

    private Batch batch(List<Tally> tallies) {
        Tally tally = tallies.get(0);
        Request first = tally.first();
        tallies.forEach(each -> deciding.put(each.name(), each));
        boolean someDoNotAsk = !joining.joined().isEmpty();
        List<Request> templates = List.of();
        if (first.kind() == OpKind.SCATTER) {
            templates = List.of(tally.requests().get(first.root()));
        } else if (someDoNotAsk
                || first.kind() == OpKind.ADD_PROCESS_SET
                || first.kind() == OpKind.REMOVE_PROCESS_SET) {
            templates = tallies.stream().map(Tally::first).toList();
        }
        return new Batch(
                tallies.stream().map(Tally::op).toList(),
                first.kind().isTransfer() ? Verdict.RUN_IF_ASKED : Verdict.RUN,
                "",
                sizes(tally),
                templates,
                joining.divisor(tally),
                !someDoNotAsk && CoordinatorCache.takes(first.kind()));
    }

    private static List<Long> sizes(Tally tally) {
        return switch (tally.first().kind()) {
            case ALLGATHER, GATHER ->
                tally.requests().stream().map(request -> request.shape().dim(0)).toList();
            case ALLTOALL ->
                tally.requests().stream()
                        .map(Request::splits)
                        .flatMap(Collection::stream)
                        .toList();
            default -> List.of();
        };
    }

    private Plan plan(List<Batch> batches) {
        if (batches.isEmpty()) {
            return new Plan(set, batches, List.of(), false, "");
        }
        List<Batch> stamped = cache.planned(batches, deciding);
        List<List<String>> lock = List.of();
        for (Batch batch : stamped) {
            lock = steps.see(batch, settles(batch));
        }
        deciding.clear();
        if (!lock.isEmpty() && isQuietBut(lock)) {
            epoch++;
            locked = true;
            waiting.clear();
            return new Plan(set, stamped, lock, false, "");
        }
        return new Plan(set, stamped, List.of(), false, "");
    }

    private boolean settles(Batch batch) {
        if (!mayLock || order != null || !batch.remember()) {
            return false;
        }
        Request first = deciding.get(batch.ops().get(0).name()).first();
        // A veto is one element more; eight bits could overflow, if very many ranks raise it at once.
        return first.kind() == OpKind.ALLREDUCE
                && vetoes.test(first.device())
                && first.how().wire().bytes() > 1;
    }

    /** Whether the ranks want nothing at the moment but the next of these steps. */
    private boolean isQuietBut(List<List<String>> lock) {
        List<String> names = lock.stream().flatMap(List::stream).toList();
        return closed.isEmpty() && groups.isEmpty() && names.containsAll(waiting.keySet());
    }

    private void giveUpOnLateRanks(long now, List<Batch> batches) {
        for (Iterator<Tally> all = waiting.values().iterator(); all.hasNext(); ) {
            Tally tally = all.next();
            if (tally.first().hasLimit() && deadline(tally) <= now) {
                all.remove();
                List<Integer> missing = tally.missing();
                batches.add(late.gaveUp(
                        tally,
                        "barrier \"" + tally.name() + "\": after "
                                + tally.first().argument() + " ms ranks " + RankSet.format(global(missing))
                                + " had not come"));
            }
        }
    }

    private static long deadline(Tally tally) {
        return tally.since() + TimeUnit.MILLISECONDS.toNanos(tally.first().argument());
    }

    private void refuseWhatWaitsForClosedRanks(List<Batch> batches) {
        if (closed.isEmpty()) {
            return;
        }
        Map<String, Refusal> spoiled = new HashMap<>();
        for (Iterator<Tally> all = waiting.values().iterator(); all.hasNext(); ) {
            Tally tally = all.next();
            List<Integer> gone =
                    tally.missing().stream().filter(closed::contains).toList();
            if (!gone.isEmpty()) {
                all.remove();
                Refusal refusal = new Refusal(
                        Verdict.RANK_GONE,
                        "tensor \"" + tally.name() + "\" can never be complete: ranks " + RankSet.format(global(gone))
                                + " have closed their context without submitting it");
                batches.add(refusal.of(tally));
                tally.groups().forEach(group -> spoiled.putIfAbsent(group, refusal));
            }
        }
        refuseTheRestOf(spoiled, batches);
    }

    private List<Integer> global(List<Integer> ranks) {
        return ranks.stream().map(members::get).toList();
    }

    /** Whether the response cache has been too small. */
    boolean hasEvicted() {
        return cache.hasEvicted();
    }
}
