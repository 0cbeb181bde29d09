package io.hvd.engine.coordination;

import io.hvd.config.EngineSettings;
import io.hvd.engine.coordination.Refusals.Why;
import io.hvd.engine.message.Announcement;
import io.hvd.engine.message.Batch;
import io.hvd.engine.message.LeftPlan;
import io.hvd.engine.message.Plan;
import io.hvd.engine.message.RankSet;
import io.hvd.engine.message.Reducing;
import io.hvd.engine.message.Request;
import io.hvd.tensor.Device;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeSet;
import java.util.function.Predicate;

/**
 * The coordinator's work for one process set: it turns the announcements of the ranks into plans. It uses no thread, no
 * channel and no clock, so the same announcements in the same order always give the same plans. Ranks are numbered
 * within the set here, except where a parameter says global.
 */
final class Negotiation {
    private final int set;
    private final List<Integer> members;
    private final Arrivals arrivals;
    private final Predicate<Device> vetoes;
    private final WaitingTallies waiting;
    private final List<Tally> ready = new ArrayList<>();
    private final CoordinatorCache cache;
    private final Joining joining;
    private final Batching batching;
    private final GroupGate groups = new GroupGate();
    private final LateRanks late = new LateRanks();
    private final CallOrder order;
    private final StepWatch steps;
    private final TreeSet<Integer> closed = new TreeSet<>();
    /** The operations of the plan that is being made, by name. */
    private final Map<String, Tally> deciding = new HashMap<>();

    private int epoch;
    /** Requests of ranks that already know that a static plan has been left, when rank 0 does not know it yet. */
    private final List<Runnable> early = new ArrayList<>();

    private boolean mayLock;
    private boolean locked;

    /**
     * @param members global ranks, ascending
     * @param changes decides what changes the process sets
     */
    Negotiation(
            int set,
            List<Integer> members,
            EngineSettings settings,
            Arrivals arrivals,
            Predicate<Device> vetoes,
            SetChanges changes) {
        this.arrivals = arrivals;
        this.vetoes = vetoes;
        this.set = set;
        this.members = List.copyOf(members);
        this.waiting = new WaitingTallies(members.size());
        this.cache = new CoordinatorCache(settings.cacheCapacity(), members.size());
        this.joining = new Joining(members);
        this.batching = new Batching(settings, joining, changes);
        this.order = settings.strict() ? new CallOrder(members) : null;
        this.steps = new StepWatch(settings.staticPlanSteps());
    }

    List<Integer> members() {
        return members;
    }

    /** Other settings hold for what is decided from now on. */
    void tune(EngineSettings others) {
        batching.tune(others);
    }

    /** Allows or forbids static plans, which need that no other process set can come between the steps. */
    void mayLock(boolean allowed) {
        mayLock = allowed;
    }

    /**
     * Records what a rank asks for.
     *
     * @param rank global
     * @param now nanoseconds of any monotonic clock
     */
    void announce(int rank, Announcement.Wishes wishes, long now) {
        int self = Collections.binarySearch(members, rank);
        cache.seen(self, wishes.seen());
        if (order != null) {
            for (int i = 0; i < wishes.fresh().size(); i++) {
                order.called(self, wishes.fresh().get(i), wishes.sites().get(i));
            }
            order.agreed().forEach(call -> want(call.rank(), call.request(), Plan.Op.UNKNOWN, now));
            return;
        }
        // Requests with a limit wait neither for the beginning nor for the end of a static plan.
        wishes.fresh().stream().filter(Request::hasLimit).forEach(request -> want(self, request, Plan.Op.UNKNOWN, now));
        if (wishes.epoch() > epoch) {
            early.addAll(asked(self, wishes, now));
        } else if (wishes.epoch() == epoch) {
            asked(self, wishes, now).forEach(Runnable::run);
        } // else: the rank announced this before it knew of the change, and announces it again
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

    /** Decides everything that can be decided now; the plan is empty when there is nothing new. */
    Plan next(long now) {
        List<Batch> batches = new ArrayList<>();
        Refusals refusals = new Refusals();
        if (order != null) {
            order.refusals().forEach(refused -> {
                batches.add(refused.refusal());
                refusals.spoil(refused.groups(), Why.of(refused.refusal()));
            });
        }
        batches.addAll(late.refusals());
        if (!joining.joined().isEmpty()) {
            ready.addAll(waiting.take(tally -> tally.isComplete(joining.joined())));
        }
        decide(refusals, batches);
        joining.finished().or(() -> joining.withoutClosed(closed)).ifPresent(end -> {
            batches.add(end);
            late.forget();
            if (order != null) {
                order.joinEnded();
            }
        });
        giveUpOnLateRanks(now, batches);
        refuseWhatWaitsForClosedRanks(batches);
        return plan(batches);
    }

    /** Nanoseconds until {@link #next} has something to say without a new announcement. */
    long nanosUntilDue(long now) {
        return waiting.nanosUntilDue(now);
    }

    /**
     * Extends the limits that have passed while no thread received announcements.
     *
     * @param listened the time until which announcements were received as they came
     */
    void postpone(long listened, long now) {
        waiting.postpone(listened, now);
    }

    private void want(int rank, Request request, int number, long now) {
        arrivals.ready(set, request, members.get(rank));
        if (request instanceof Request.Join join) {
            joining.join(rank, join);
            return;
        }
        if (late.isTooLate(rank, request)) {
            return;
        }
        waiting.want(rank, request, number, now, joining.joined()).ifPresent(ready::add);
    }

    private void decide(Refusals refusals, List<Batch> batches) {
        Map<Tally, Why> errors = new HashMap<>();
        for (Tally tally : ready) {
            error(tally).map(error -> new Why(Batch.Reason.MISMATCH, error)).ifPresent(why -> {
                errors.put(tally, why);
                refusals.spoil(tally.groups(), why);
            });
        }
        List<Tally> alone = new ArrayList<>();
        for (Tally tally : ready) {
            Optional<Why> why = Optional.ofNullable(errors.get(tally)).or(() -> refusals.spoiled(tally));
            if (why.isPresent()) {
                batches.add(why.get().refusal(tally));
            } else if (tally.first().group().isNone()) {
                alone.add(tally);
            } else {
                groups.arrived(tally).ifPresent(group -> batches.addAll(batching.group(agreed(group))));
            }
        }
        ready.clear();
        batches.addAll(refusals.rest(groups, waiting));
        batches.addAll(batching.batches(agreed(alone)));
    }

    private List<Tally> agreed(List<Tally> tallies) {
        tallies.forEach(tally -> deciding.put(tally.name(), tally));
        return tallies;
    }

    private Optional<String> error(Tally tally) {
        return tally.op().isKnown() && joining.joined().isEmpty()
                ? Optional.empty()
                : Mismatch.find(tally.requests(), members).or(() -> joining.refuses(tally));
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
        if (!mayLock || order != null || !(batch instanceof Batch.Allreduce)) {
            return false;
        }
        Reducing.Allreduce first =
                (Reducing.Allreduce) deciding.get(batch.names().get(0)).first();
        // A veto adds one element. In eight bits the sum could overflow if very many ranks veto at once.
        return vetoes.test(first.device()) && first.how().wire().bytes() > 1;
    }

    /** Whether the ranks have asked for nothing except the next of these steps. */
    private boolean isQuietBut(List<List<String>> lock) {
        List<String> names = lock.stream().flatMap(List::stream).toList();
        return closed.isEmpty() && groups.isEmpty() && waiting.isNothingBut(names);
    }

    private void giveUpOnLateRanks(long now, List<Batch> batches) {
        for (Tally tally : waiting.takeOverdue(now)) {
            batches.add(late.gaveUp(
                    tally,
                    "barrier \"" + tally.name() + "\": after " + tally.limitMillis() + " ms ranks "
                            + RankSet.format(global(tally.missing())) + " had not come"));
        }
    }

    private void refuseWhatWaitsForClosedRanks(List<Batch> batches) {
        if (closed.isEmpty()) {
            return;
        }
        Refusals refusals = new Refusals();
        for (Tally tally : waiting.take(tally -> !gone(tally).isEmpty())) {
            Why why = new Why(
                    Batch.Reason.RANK_GONE,
                    "tensor \"" + tally.name() + "\" can never be complete: ranks "
                            + RankSet.format(global(gone(tally)))
                            + " have closed their context without submitting it; a rank that has fewer steps than the"
                            + " others calls join() before it closes");
            batches.add(why.refusal(tally));
            refusals.spoil(tally.groups(), why);
        }
        batches.addAll(refusals.rest(groups, waiting));
    }

    private List<Integer> gone(Tally tally) {
        return tally.missing().stream().filter(closed::contains).toList();
    }

    private List<Integer> global(List<Integer> ranks) {
        return ranks.stream().map(members::get).toList();
    }

    /** Whether the response cache has dropped a request for lack of room. */
    boolean hasEvicted() {
        return cache.hasEvicted();
    }
}
