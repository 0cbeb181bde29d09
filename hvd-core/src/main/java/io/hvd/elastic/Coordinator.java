package io.hvd.elastic;

import io.hvd.elastic.ElasticEvent.Ended;
import io.hvd.elastic.ElasticEvent.Heard;
import io.hvd.elastic.ElasticEvent.Joined;
import io.hvd.elastic.ElasticEvent.Leaving;
import io.hvd.elastic.ElasticEvent.Ready;
import io.hvd.elastic.ElasticEvent.Started;
import io.hvd.elastic.ElasticOrder.Abandon;
import io.hvd.elastic.ElasticOrder.Finish;
import io.hvd.elastic.ElasticOrder.Form;
import io.hvd.elastic.ElasticOrder.Interrupt;
import io.hvd.elastic.ElasticOrder.Release;
import io.hvd.elastic.ElasticOrder.Say;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Decides who belongs to which generation of an elastic job. It is a state machine: events and the time go in, orders come
 * out, and there is no thread, socket or clock inside. There is one per job, so that workers which do not reach it can never
 * go on by themselves: two halves of a job are impossible.
 *
 * <p>A generation is over when one of its members ends or leaves it. The next one begins as soon as every other member has
 * left too; with the workers that have joined since, if there are at least {@link ElasticLimits#atLeast} of them together. Its
 * state is that of the member with the most steps. A survivor keeps its rank if there are still so many ranks, and the free
 * ranks go to the other survivors first and then to new workers.
 *
 * <p>Silence alone is no death: a worker whose process is stopped or swapped out gives no sign of life either. It counts as
 * lost only if another member's monitor has found its host unreachable too, or after the limit.
 */
public final class Coordinator {
    /** After so long without a sign of life a worker is silent. */
    static final long SILENT_MILLIS = 2_000;
    /** So long workers are waited for that are about to come, so that a job grows once and not once for each. */
    static final long GATHERING_MILLIS = 1_000;
    /** After so long a sentence says for whom the others wait. */
    static final long QUIET_MILLIS = 3_000;

    private enum State {
        /** Its process was started, and it has said nothing yet. */
        STARTED,
        /** It waits for its first generation. */
        NEW,
        /** It is in the current generation. */
        MEMBER,
        /** It has left the current generation, and waits for the next. */
        READY
    }

    private static final class Worker {
        private final int number;
        private final String host;
        private final long since;
        private State state;
        private long heard;
        /** Steps that its state has seen; -1 if it has none. */
        private long step = -1;

        private boolean done;
        private boolean leaving;
        /** Its rank in the latest generation of which it was a member; -1 if there is none. */
        private int rank = -1;

        private Set<Integer> unreachable = Set.of();

        Worker(int number, String host, State state, long now) {
            this.number = number;
            this.host = host;
            this.state = state;
            this.since = now;
            this.heard = now;
        }

        boolean waits() {
            return state == State.NEW || state == State.READY;
        }

        boolean isSilent(long now) {
            return now - heard >= SILENT_MILLIS;
        }

        String name() {
            String process = "worker " + number + " on " + host;
            return rank < 0 ? process : "rank " + rank + " (" + process + ")";
        }
    }

    private final ElasticLimits limits;
    private final Map<Integer, Worker> workers = new TreeMap<>();
    private final List<ElasticOrder> orders = new ArrayList<>();
    /** The number of the current generation; -1 before the first one. */
    private int generation = -1;

    private long now;
    /** Since when there is no generation that goes on. */
    private long brokenSince;
    /** Whether the current generation has lost a member or one has left it. */
    private boolean broken = true;
    /** Whether its members were asked to leave at the end of a step. */
    private boolean interrupted;
    /** Whether it cannot go on, and did not just end. */
    private boolean failed;
    /** Whether those that have not left yet were told that it cannot go on. */
    private boolean abandoned;

    private boolean told;
    /** Whether a worker's state has seen that all members had the same. */
    private boolean stateExists;

    private boolean over;
    private final List<String> lost = new ArrayList<>();

    /** @param now the time in milliseconds, on a clock that only goes on */
    public Coordinator(ElasticLimits limits, long now) {
        this.limits = limits;
        this.now = now;
        this.brokenSince = now;
    }

    /** The orders that follow from an event. @param millis the time of the event, never before that of the one before */
    public List<ElasticOrder> on(ElasticEvent event, long millis) {
        now = Math.max(now, millis);
        orders.clear();
        if (!over) {
            note(event);
            decide();
        }
        return List.copyOf(orders);
    }

    /** Whether the job has ended. */
    public boolean isOver() {
        return over;
    }

    private void note(ElasticEvent event) {
        if (event instanceof Started started) {
            workers.put(started.worker(), new Worker(started.worker(), started.host(), State.STARTED, now));
        } else if (event instanceof Joined joined) {
            Worker known = workers.get(joined.worker());
            if (known == null || known.state == State.STARTED) {
                workers.put(joined.worker(), new Worker(joined.worker(), joined.host(), State.NEW, now));
            }
        } else if (event instanceof Ready ready) {
            ready(ready);
        } else if (event instanceof Leaving leaving) {
            of(leaving.worker()).forEach(worker -> {
                worker.leaving = true;
                worker.heard = now;
            });
        } else if (event instanceof Ended ended) {
            of(ended.worker()).forEach(worker -> lose(worker, ended.why()));
        } else if (event instanceof Heard heard) {
            of(heard.worker()).forEach(worker -> worker.heard = now);
        }
    }

    private List<Worker> of(int worker) {
        return Stream.ofNullable(workers.get(worker)).toList();
    }

    private void ready(Ready ready) {
        Worker worker = workers.get(ready.worker());
        if (worker == null || worker.state != State.MEMBER || ready.generation() != generation) {
            return; // it answers to a generation that others have left already, and is told of the current one
        }
        worker.state = State.READY;
        worker.heard = now;
        worker.step = ready.step();
        worker.done = ready.done();
        worker.unreachable = ready.unreachable();
        stateExists |= ready.step() >= 0;
        failed |= !interrupted && !ready.done();
        breakUp();
    }

    private void breakUp() {
        if (!broken) {
            broken = true;
            brokenSince = now;
            told = false;
        }
    }

    private void lose(Worker worker, String why) {
        workers.remove(worker.number);
        if (worker.state == State.MEMBER) {
            failed = true;
            breakUp();
        }
        if (!worker.done) {
            lost.add(worker.name());
            orders.add(new Say(worker.name() + " is lost: " + why));
        }
    }

    private void decide() {
        if (!broken) {
            growOrShrink();
            return;
        }
        evictUnreachable();
        List<Worker> inside = in(State.MEMBER);
        if (!inside.isEmpty()) {
            abandon(inside);
            hurry(inside);
            return;
        }
        letGo();
        if (finishIfDone()) {
            return;
        }
        form();
    }

    /** A generation that goes on takes in new workers at the end of a step, and lets those go that have asked for it. */
    private void growOrShrink() {
        List<Worker> members = in(State.MEMBER);
        boolean shrinks = members.stream().anyMatch(worker -> worker.leaving);
        List<Worker> fresh = Stream.concat(audible(State.READY).stream(), audible(State.NEW).stream())
                .toList(); // a survivor that was stopped while the others went on comes back like a new one
        boolean grows = !fresh.isEmpty()
                && members.size() < limits.atMost()
                && (in(State.STARTED).isEmpty()
                        || fresh.stream().allMatch(worker -> now - worker.since >= GATHERING_MILLIS));
        if (!interrupted && (shrinks || grows)) {
            interrupted = true;
            orders.add(new Interrupt(generation, numbers(members)));
        }
    }

    /** One of two workers that cannot reach each other has to go; the one with the higher rank does. */
    private void evictUnreachable() {
        Set<Integer> accused =
                ready().stream().flatMap(worker -> worker.unreachable.stream()).collect(Collectors.toSet());
        for (Worker worker : List.copyOf(workers.values())) {
            if (worker.state == State.MEMBER && worker.isSilent(now) && accused.contains(worker.number)) {
                evict(worker, "its host is unreachable");
            }
        }
        if (!in(State.MEMBER).isEmpty()) {
            return;
        }
        Set<Integer> kept = new HashSet<>();
        Set<Integer> refused = new HashSet<>();
        for (Worker worker : ready()) {
            boolean apart = refused.contains(worker.number)
                    || worker.unreachable.stream().anyMatch(kept::contains);
            if (apart) {
                evict(worker, "the hosts of other ranks do not reach its host");
            } else {
                kept.add(worker.number);
                refused.addAll(worker.unreachable);
            }
        }
    }

    private void evict(Worker worker, String why) {
        orders.add(new Release(worker.number, false, why));
        lose(worker, why);
    }

    private void abandon(List<Worker> inside) {
        if (failed && !abandoned) {
            abandoned = true;
            orders.add(new Abandon(
                    generation,
                    numbers(inside),
                    lost.isEmpty() ? "another rank has left the generation" : lost.get(lost.size() - 1) + " is lost"));
        }
    }

    /** Whoever does not come out of the old generation holds up the next one. */
    private void hurry(List<Worker> inside) {
        long waited = now - brokenSince;
        if (!told && waited >= QUIET_MILLIS) {
            told = true;
            orders.add(new Say("the next generation waits for " + names(inside, worker -> true)
                    + ", which has not ended its step yet" + stopped(inside)));
        }
        if (waited >= limits.timeoutMillis()) {
            inside.forEach(worker -> evict(
                    worker,
                    "it has not left generation " + generation + " within " + limits.timeoutMillis() / 1_000
                            + " s (--elastic-timeout)"));
            decide();
        }
    }

    private String stopped(List<Worker> inside) {
        String silent = names(inside, worker -> worker.isSilent(now));
        return silent.isEmpty() ? "" : "; no sign of life comes from " + silent + ", whose process may be stopped";
    }

    /** Workers that have asked to leave do so between two generations. */
    private void letGo() {
        for (Worker worker : List.copyOf(workers.values())) {
            if (worker.leaving && worker.waits()) {
                orders.add(new Release(worker.number, true, ""));
                workers.remove(worker.number);
            }
        }
    }

    private boolean finishIfDone() {
        List<Worker> members = ready();
        boolean done = !members.isEmpty() && members.stream().allMatch(worker -> worker.done);
        if (done) {
            workers.values().forEach(worker -> orders.add(new Release(worker.number, true, "")));
            finish("");
        }
        return done;
    }

    private void finish(String failure) {
        over = true;
        orders.add(new Finish(failure));
    }

    private void form() {
        List<Worker> survivors = audible(State.READY);
        List<Worker> fresh = audible(State.NEW);
        if (generation >= 0
                && (ready().isEmpty() || stateExists && ready().stream().allMatch(one -> one.step < 0))) {
            finish("no rank is left that has the state of the training, which these have had: " + lost);
            return;
        }
        long waited = now - brokenSince;
        List<Worker> chosen = Stream.concat(survivors.stream(), fresh.stream())
                .limit(limits.atMost())
                .toList();
        boolean haveState = !stateExists || chosen.stream().anyMatch(worker -> worker.step >= 0);
        boolean enough = chosen.size() >= limits.atLeast() && haveState;
        boolean complete = generation >= 0 || chosen.size() >= limits.first();
        if (enough && (complete || noneIsToCome() && waited >= GATHERING_MILLIS || waited >= limits.timeoutMillis())) {
            begin(chosen);
        } else if (waited >= limits.timeoutMillis()) {
            finish("only " + chosen.size() + " of at least " + limits.atLeast() + " ranks (--min-np) are there after "
                    + limits.timeoutMillis() / 1_000 + " s (--elastic-timeout)" + missing());
        } else if (!told && waited >= QUIET_MILLIS) {
            told = true;
            orders.add(new Say(chosen.size() + " ranks are there and the next generation needs " + needed() + missing()
                    + "; it waits for up to " + limits.timeoutMillis() / 1_000 + " s (--elastic-timeout)"));
        }
    }

    private int needed() {
        return generation < 0 ? limits.first() : limits.atLeast();
    }

    private boolean noneIsToCome() {
        return in(State.STARTED).isEmpty();
    }

    private String missing() {
        String started = names(in(State.STARTED), worker -> true);
        String silent = names(List.copyOf(workers.values()), worker -> worker.waits() && worker.isSilent(now));
        return (lost.isEmpty() ? "" : "; lost are " + String.join(", ", lost))
                + (started.isEmpty() ? "" : "; started, and not there yet, are " + started)
                + (silent.isEmpty() ? "" : "; no sign of life comes from " + silent);
    }

    private void begin(List<Worker> chosen) {
        if (generation >= limits.resets()) {
            finish("the job has had " + limits.resets() + " resets, which is its limit (--reset-limit)"
                    + (lost.isEmpty() ? "" : "; lost are " + String.join(", ", lost)));
            return;
        }
        List<Worker> byRank = ranked(chosen);
        generation++;
        broken = false;
        failed = false;
        interrupted = false;
        abandoned = false;
        told = false;
        int root = 0;
        for (int rank = 0; rank < byRank.size(); rank++) {
            Worker worker = byRank.get(rank);
            worker.rank = rank;
            worker.state = State.MEMBER;
            worker.unreachable = Set.of();
            root = worker.step > byRank.get(root).step ? rank : root;
        }
        orders.add(new Form(generation, numbers(byRank), root));
    }

    /** Survivors keep their ranks where they can; those that are left over take free ones, the survivors first. */
    private static List<Worker> ranked(List<Worker> chosen) {
        int size = chosen.size();
        Worker[] places = new Worker[size];
        List<Worker> others = new ArrayList<>();
        for (Worker worker : chosen) {
            if (worker.rank >= 0 && worker.rank < size && places[worker.rank] == null) {
                places[worker.rank] = worker;
            } else {
                others.add(worker);
            }
        }
        others.sort(Comparator.comparing((Worker worker) -> worker.rank < 0)
                .thenComparing(worker -> worker.rank)
                .thenComparing(worker -> worker.number));
        int next = 0;
        for (int rank = 0; rank < size; rank++) {
            if (places[rank] == null) {
                places[rank] = others.get(next++);
            }
        }
        return List.of(places);
    }

    private List<Worker> in(State state) {
        return workers.values().stream().filter(worker -> worker.state == state).toList();
    }

    /** Survivors by rank. */
    private List<Worker> ready() {
        return in(State.READY).stream()
                .sorted(Comparator.comparing(worker -> worker.rank))
                .toList();
    }

    private List<Worker> audible(State state) {
        return in(state).stream().filter(worker -> !worker.isSilent(now)).toList();
    }

    private static List<Integer> numbers(List<Worker> some) {
        return some.stream().map(worker -> worker.number).toList();
    }

    private static String names(List<Worker> some, Predicate<Worker> which) {
        return some.stream().filter(which).map(Worker::name).collect(Collectors.joining(", "));
    }
}
