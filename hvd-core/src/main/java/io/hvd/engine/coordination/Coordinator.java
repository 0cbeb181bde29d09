package io.hvd.engine.coordination;

import io.hvd.config.EngineSettings;
import io.hvd.engine.message.Announcement;
import io.hvd.engine.message.Batch;
import io.hvd.engine.message.LeftPlan;
import io.hvd.engine.message.Plan;
import io.hvd.engine.message.RankSet;
import io.hvd.engine.message.Request;
import io.hvd.engine.message.Tunable;
import io.hvd.engine.message.Tuning;
import io.hvd.tensor.Device;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Predicate;
import java.util.stream.IntStream;

/**
 * Rank 0's view of the whole job: a {@link Negotiation} for every process set, and the end of the job. All sets have
 * the same coordinator, so their operations have one order on every rank, and sets that overlap cannot wait for each
 * other in a circle. It uses no thread, no channel and no clock.
 */
public final class Coordinator implements SetChanges {
    private static final int ALL = 0;

    private final int size;
    private EngineSettings settings;
    private final Arrivals arrivals;
    private final Predicate<Device> vetoes;
    private final TreeMap<Integer, Negotiation> sets = new TreeMap<>();
    /** Global ranks of each set, also of removed ones, for which plans may still be on their way. */
    private final Map<Integer, List<Integer>> members = new HashMap<>();

    private final TreeSet<Integer> closed = new TreeSet<>();
    private final TreeSet<Integer> done = new TreeSet<>();
    private Tuning tuning;
    private int nextSet;
    private String failure = "";
    private boolean stopped;
    private boolean over;
    private boolean warned;

    /** @param processSets global ranks of the sets that exist from the start, besides the set of all ranks */
    Coordinator(int size, List<List<Integer>> processSets, EngineSettings settings) {
        this(size, processSets, settings, (set, request, rank) -> {}, device -> true);
    }

    /**
     * @param arrivals is told of every operation that a rank has asked for
     * @param vetoes whether the ranks can veto an allreduce on a device, which static plans need
     */
    public Coordinator(
            int size,
            List<List<Integer>> processSets,
            EngineSettings settings,
            Arrivals arrivals,
            Predicate<Device> vetoes) {
        this.arrivals = arrivals;
        this.vetoes = vetoes;
        this.size = size;
        this.settings = settings;
        add(IntStream.range(0, size).boxed().toList());
        processSets.forEach(this::add);
        sets.get(ALL).mayLock(sets.size() == 1);
    }

    /** Global ranks of a set; every plan of the set goes to these ranks and no others. */
    public List<Integer> members(int set) {
        return members.get(set);
    }

    /**
     * Records what a rank asks for.
     *
     * @param now nanoseconds of any monotonic clock
     */
    public void announce(int rank, Announcement announcement, long now) {
        for (Announcement.Wishes wishes : announcement.wishes()) {
            Negotiation set = sets.get(wishes.set());
            if (set != null) {
                set.announce(rank, wishes, now);
            }
        }
        if (announcement.closing() && closed.add(rank)) {
            sets.values().stream().filter(set -> set.members().contains(rank)).forEach(set -> set.close(rank));
        }
        if (announcement.done()) {
            done.add(rank);
        }
        if (!announcement.failure().isEmpty()) {
            fail(announcement.failure());
        }
    }

    /**
     * A rank has gone before all were done, until when a rank that has closed is still needed. The first cause of a
     * failure counts.
     */
    public void lose(int rank, String why) {
        fail("rank " + rank + " is gone: " + why);
    }

    /** All ranks have left the static plan of a set. */
    public void unlock(int set, LeftPlan left) {
        sets.get(set).unlock(left);
    }

    /** All ranks are to have other settings, from the next plan on that they do not carry out in the middle of a static plan. */
    public void tune(Tuning next) {
        tuning = next;
    }

    /** The settings to send with the next plan of all ranks; they hold for what it decides. */
    private Optional<Tuning> takeTuning() {
        if (tuning == null || (sets.get(ALL).isLocked() && !tuning.settings().equals(Tunable.of(settings)))) {
            return Optional.empty();
        }
        Tuning taken = tuning;
        tuning = null;
        settings = taken.settings().in(settings);
        sets.values().forEach(set -> set.tune(settings));
        return Optional.of(taken);
    }

    /** Decides everything that can be decided now; empty plans are left out. */
    public List<Plan> next(long now) {
        if (!failure.isEmpty()) {
            List<Plan> end = over ? List.of() : List.of(Plan.failed(failure));
            over = true;
            return end;
        }
        List<Plan> plans = new ArrayList<>();
        Optional<Tuning> tuned = takeTuning();
        // The set of all ranks comes last: it may remove other sets, which first finish what has been agreed.
        for (int id : List.copyOf(sets.descendingKeySet())) {
            Plan plan = sets.get(id).next(now).with(id == ALL ? tuned : Optional.empty());
            if (!plan.isEmpty()) {
                plans.add(plan);
            }
        }
        sets.get(ALL).mayLock(sets.size() == 1);
        // Ranks that follow a static plan have to leave it first.
        if (closed.size() == size && !stopped && !sets.get(ALL).isLocked()) {
            stopped = true;
            plans.add(Plan.stopping());
        }
        if (done.size() == size && !over) {
            over = true;
            plans.add(Plan.stopping());
        }
        return plans;
    }

    /** Nanoseconds until {@link #next} has something to say without a new announcement. */
    public long nanosUntilDue(long now) {
        return sets.values().stream()
                .mapToLong(set -> set.nanosUntilDue(now))
                .min()
                .orElse(Long.MAX_VALUE);
    }

    /** See {@link Negotiation#postpone}. */
    public void postpone(long listened, long now) {
        sets.values().forEach(set -> set.postpone(listened, now));
    }

    /** The warning that a response cache is too small, given once. */
    public Optional<String> warning() {
        if (warned || sets.values().stream().noneMatch(Negotiation::hasEvicted)) {
            return Optional.empty();
        }
        warned = true;
        return Optional.of("more than " + settings.cacheCapacity() + " different requests in a process set: the oldest"
                + " are negotiated in full again; HOROVOD_CACHE_CAPACITY raises the limit");
    }

    private void fail(String why) {
        if (failure.isEmpty() && !over) {
            failure = why;
        }
    }

    private int add(List<Integer> ranks) {
        int id = nextSet++;
        Negotiation set = new Negotiation(id, ranks, settings, arrivals, vetoes, this);
        closed.stream().filter(ranks::contains).forEach(set::close);
        sets.put(id, set);
        members.put(id, List.copyOf(ranks));
        return id;
    }

    @Override
    public Batch add(Request.AddProcessSet request) {
        for (Map.Entry<Integer, Negotiation> entry : sets.entrySet()) {
            if (entry.getValue().members().equals(request.members())) {
                return refused(
                        request.name(),
                        "process set of ranks " + RankSet.format(request.members()) + " is there already, as number "
                                + entry.getKey());
            }
        }
        return new Batch.AddProcessSet(request.name(), add(request.members()), request.members());
    }

    @Override
    public Batch remove(Request.RemoveProcessSet request) {
        int id = request.set();
        if (id == ALL || sets.remove(id) == null) {
            return refused(
                    request.name(),
                    "process set " + id + (id == ALL ? " is all ranks and stays" : " is not registered"));
        }
        return new Batch.RemoveProcessSet(request.name(), id);
    }

    private Batch refused(String name, String why) {
        return new Batch.Refusal(name, Batch.Reason.BAD_ARGUMENT, why, members.get(ALL));
    }
}
