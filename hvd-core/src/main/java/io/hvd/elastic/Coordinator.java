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
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Predicate;
import java.util.function.Supplier;
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
 *
 * <p>A launcher announces the workers that it starts, and tells their ends. Workers that nobody announces may come at any
 * time, and so they are waited for.
 */
final class Coordinator {
    /** After so long without a sign of life a worker is silent. */
    static final long SILENT_MILLIS = 2_000;
    /** So long workers are waited for that are about to come, so that a job grows once and not once for each. */
    static final long GATHERING_MILLIS = 1_000;
    /** After so long a sentence says for whom the others wait. */
    static final long QUIET_MILLIS = 3_000;

    private enum State {
        /** It was announced, and has said nothing yet. */
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
        private State state = State.STARTED;
        /** Since when it waits for its first generation. */
        private long joined;

        private long heard;
        /** Steps that its state has seen; -1 if it has none. */
        private long step = -1;

        private boolean done;
        private boolean leaving;
        /** Its rank in the latest generation of which it was a member; -1 if there is none. */
        private int rank = -1;

        private Set<Integer> unreachable = Set.of();

        Worker(int number, String host) {
            this.number = number;
            this.host = host;
        }

        void join(long now) {
            if (state == State.STARTED) {
                state = State.NEW;
                joined = now;
                heard = now;
            }
        }

        /** What it had is worth nothing any more, since others have gone on without it. */
        void beginAnew() {
            state = State.NEW;
            step = -1;
            done = false;
            rank = -1;
            unreachable = Set.of();
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
    /** The numbers of all workers that there have ever been. */
    private final Set<Integer> met = new HashSet<>();

    private final List<ElasticOrder> orders = new ArrayList<>();
    /** The number of the current generation; -1 before the first one. */
    private int generation = -1;

    private long now;
    /** Since when there is no generation that goes on. */
    private long brokenSince;
    /** Since when members that have left it wait for the others. */
    private long readySince;
    /** Whether the current generation has lost a member or one has left it. */
    private boolean broken = true;
    /** Whether its members were asked to leave at the end of a step. */
    private boolean interrupted;
    /** Why it cannot go on, if it did not just end; empty otherwise. */
    private String failure = "";

    /** Whether those that have not left yet were told that it cannot go on. */
    private boolean abandoned;

    /** What the user was last told about whom the others wait for, and when. */
    private String said = "";

    private long saidAt;
    /** Whether a state has seen a step, so that without it the training would begin again. */
    private boolean stepsMade;

    /** Whether somebody announces workers by {@link Started}, so that it is known whether more of them are to come. */
    private boolean announced;

    private boolean over;
    /** The first worker that was lost since the current generation began, and why; empty if none was. */
    private String firstLoss = "";
    /** Members that have gone and were not replaced. */
    private final List<String> missing = new ArrayList<>();

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
        if (!over && !isSignOfLifeAsExpected(event)) {
            note(event);
            decide();
        }
        return List.copyOf(orders);
    }

    /** Whether the job has ended. */
    public boolean isOver() {
        return over;
    }

    /** By far the most events are such, and nothing follows from them that the next tick does not see. */
    private boolean isSignOfLifeAsExpected(ElasticEvent event) {
        if (!(event instanceof Heard heard)) {
            return false;
        }
        Worker worker = workers.get(heard.worker());
        boolean expected = worker == null || !worker.isSilent(now);
        of(heard.worker()).forEach(one -> one.heard = now);
        return expected;
    }

    private void note(ElasticEvent event) {
        if (event instanceof Started started) {
            announced = true;
            meet(started.worker(), started.host());
        } else if (event instanceof Joined joined) {
            meet(joined.worker(), joined.host());
            of(joined.worker()).forEach(worker -> worker.join(now));
        } else if (event instanceof Ready ready) {
            ready(ready);
        } else if (event instanceof Leaving leaving) {
            of(leaving.worker()).forEach(worker -> {
                worker.leaving = true;
                worker.heard = now;
            });
        } else if (event instanceof Ended ended) {
            met.add(ended.worker());
            of(ended.worker()).forEach(worker -> lose(worker, ended.why()));
        } // a sign of life has been noted, and a tick is nothing but time
    }

    /** Messages about a worker may overtake each other; one that has ended does not come back. */
    private void meet(int worker, String host) {
        if (met.add(worker)) {
            workers.put(worker, new Worker(worker, host));
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
        readySince = in(State.READY).size() == 1 ? now : readySince;
        worker.step = ready.step();
        worker.done = ready.done();
        worker.unreachable = ready.unreachable();
        stepsMade |= ready.step() > 0;
        if (!ready.unreachable().isEmpty() || !interrupted && !ready.done()) {
            fail(worker.name() + " has left the generation");
        }
        breakUp();
    }

    private void breakUp() {
        if (!broken) {
            broken = true;
            brokenSince = now;
        }
    }

    private void fail(String why) {
        if (failure.isEmpty()) {
            failure = why;
        }
    }

    private void lose(Worker worker, String why) {
        workers.remove(worker.number);
        if (worker.state == State.MEMBER) {
            fail(worker.name() + " is lost");
            breakUp();
        }
        missing.add(worker.name());
        String lost = worker.name() + " is lost: " + why;
        firstLoss = firstLoss.isEmpty() ? lost : firstLoss;
        orders.add(new Say(lost));
    }

    private void decide() {
        letGo(in(State.NEW));
        if (!broken) {
            evictUnheard();
        }
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
        separate();
        if (isDone()) {
            workers.values().forEach(worker -> orders.add(new Release(worker.number, true, "")));
            finish("");
            return;
        }
        letGo(survivorsThatMayGo());
        form();
    }

    /** Nobody else tells the end of a worker that nobody has announced, such as one whose network is gone. */
    private void evictUnheard() {
        long limit = limits.timeoutMillis();
        in(State.MEMBER).stream()
                .filter(worker -> !announced && now - worker.heard >= limit)
                .forEach(worker -> evict(
                        worker,
                        "no sign of life has come from it for " + limit / 1_000 + " s ("
                                + limits.names().timeout() + ")"));
    }

    /** A generation that goes on takes in new workers at the end of a step, and lets those go that have asked for it. */
    private void growOrShrink() {
        List<Worker> members = in(State.MEMBER);
        boolean shrinks = members.stream().anyMatch(worker -> worker.leaving);
        List<Worker> fresh = audible(State.NEW);
        boolean grows = !fresh.isEmpty()
                && members.size() < limits.atMost()
                && generation < limits.resets()
                && (noneIsToCome() || fresh.stream().anyMatch(worker -> now - worker.joined >= GATHERING_MILLIS));
        if (!interrupted && (shrinks || grows)) {
            interrupted = true;
            orders.add(new Interrupt(generation, numbers(members)));
        }
    }

    /** A member that is silent and that others do not reach either is lost. */
    private void evictUnreachable() {
        List<Worker> silent =
                in(State.MEMBER).stream().filter(worker -> worker.isSilent(now)).toList();
        if (silent.isEmpty()) {
            return;
        }
        Set<Integer> accused = in(State.READY).stream()
                .flatMap(worker -> worker.unreachable.stream())
                .collect(Collectors.toSet());
        silent.stream()
                .filter(worker -> accused.contains(worker.number))
                .forEach(worker -> evict(worker, "its host is unreachable"));
    }

    /**
     * Of survivors that do not reach each other one has to go: first one that has no state, then the one that is apart from
     * more of them, then the one with the higher rank.
     */
    private void separate() {
        Map<Integer, Set<Integer>> apart = apart();
        Set<Integer> kept = new HashSet<>();
        in(State.READY).stream()
                .filter(worker -> apart.containsKey(worker.number))
                .sorted(Comparator.comparing((Worker worker) -> worker.step < 0)
                        .thenComparing(worker -> apart.get(worker.number).size())
                        .thenComparing(worker -> worker.rank))
                .forEach(worker -> {
                    if (apart.get(worker.number).stream().anyMatch(kept::contains)) {
                        evict(worker, "the hosts of other ranks do not reach its host");
                    } else {
                        kept.add(worker.number);
                    }
                });
    }

    /** From which of the others each audible survivor is apart, whichever of two has found it out. */
    private Map<Integer, Set<Integer>> apart() {
        Set<Integer> audible = new HashSet<>(numbers(audible(State.READY)));
        Map<Integer, Set<Integer>> apart = new HashMap<>();
        for (int one : audible) {
            for (int other : workers.get(one).unreachable) {
                if (audible.contains(other)) {
                    apart.computeIfAbsent(one, any -> new HashSet<>()).add(other);
                    apart.computeIfAbsent(other, any -> new HashSet<>()).add(one);
                }
            }
        }
        return apart;
    }

    private void evict(Worker worker, String why) {
        orders.add(new Release(worker.number, false, why));
        lose(worker, why);
    }

    private void abandon(List<Worker> inside) {
        if (!failure.isEmpty() && !abandoned) {
            abandoned = true;
            orders.add(new Abandon(generation, numbers(inside), failure));
        }
    }

    /** Whoever does not come out of the old generation holds up the next one. */
    private void hurry(List<Worker> inside) {
        List<Worker> outside = in(State.READY);
        boolean trained =
                failure.isEmpty() && !outside.isEmpty() && outside.stream().allMatch(worker -> worker.done);
        if (trained && inside.stream().noneMatch(worker -> worker.isSilent(now))) {
            brokenSince = now; // behind the last step a rank may save and evaluate for as long as it likes
            return;
        }
        say(() -> "the next generation waits for " + names(inside, worker -> true)
                + ", which has not ended its step yet" + stopped(inside));
        List<Worker> late = inside.stream()
                .filter(worker -> now - heldUpSince(worker, outside) >= limits.timeoutMillis())
                .toList();
        if (!late.isEmpty()) {
            late.forEach(worker -> evict(
                    worker,
                    "it has not left generation " + generation + " within " + limits.timeoutMillis() / 1_000 + " s ("
                            + limits.names().timeout() + ")"));
            brokenSince = now; // others may come in their place
            decide();
        }
    }

    /** Since when a rank holds up others; one that gives signs of life holds up nobody while none of them waits. */
    private long heldUpSince(Worker worker, List<Worker> outside) {
        if (worker.isSilent(now)) {
            return brokenSince;
        }
        return outside.isEmpty() ? now : Math.max(brokenSince, readySince);
    }

    private String stopped(List<Worker> inside) {
        String silent = names(inside, worker -> worker.isSilent(now));
        return silent.isEmpty() ? "" : "; no sign of life comes from " + silent + ", whose process may be stopped";
    }

    /** Workers that have asked to leave do so when they are in no generation. */
    private void letGo(List<Worker> some) {
        for (Worker worker : some) {
            if (worker.leaving) {
                orders.add(new Release(worker.number, true, ""));
                workers.remove(worker.number);
                if (worker.rank >= 0) {
                    missing.add(worker.name() + " (which has left)");
                }
            }
        }
    }

    /** Those of them that have the state alone stay until others have it, if there are others: one of them does. */
    private List<Worker> survivorsThatMayGo() {
        List<Worker> survivors = audible(State.READY);
        boolean heirs = limits.atMost() > 1
                && Stream.concat(survivors.stream(), audible(State.NEW).stream())
                        .anyMatch(worker -> !worker.leaving);
        boolean stays = survivors.stream().anyMatch(worker -> !worker.leaving && worker.step >= 0);
        Optional<Worker> last = survivors.stream()
                .filter(worker -> heirs && !stays)
                .max(Comparator.comparing((Worker worker) -> worker.step).thenComparing(worker -> -worker.rank));
        return in(State.READY).stream()
                .filter(worker -> last.isEmpty() || worker != last.get())
                .toList();
    }

    /** Whether somebody is done, and nobody stays who is not. */
    private boolean isDone() {
        List<Worker> survivors = in(State.READY);
        return survivors.stream().anyMatch(worker -> worker.done)
                && survivors.stream().allMatch(worker -> worker.done || worker.leaving);
    }

    private void finish(String failure) {
        over = true;
        orders.add(new Finish(failure));
    }

    private void form() {
        List<Worker> survivors = audible(State.READY);
        List<Worker> fresh = audible(State.NEW);
        if (generation >= 0
                && (ready().isEmpty() || stepsMade && ready().stream().allMatch(one -> one.step < 0))) {
            finish("no rank is left that has the state of the training" + missing() + firstLost());
            return;
        }
        long waited = now - brokenSince;
        long limit = generation < 0 ? limits.startMillis() : limits.timeoutMillis();
        List<Worker> chosen = Stream.concat(survivors.stream(), fresh.stream())
                .limit(limits.atMost())
                .toList();
        boolean haveState = !stepsMade || chosen.stream().anyMatch(worker -> worker.step >= 0);
        boolean enough = chosen.size() >= limits.atLeast() && haveState;
        boolean complete = generation >= 0 || chosen.size() >= limits.first();
        if (enough && (complete || noneIsToCome() && waited >= GATHERING_MILLIS || waited >= limit)) {
            begin(chosen);
        } else if (waited >= limit) {
            finish("only " + chosen.size() + " of at least " + limits.atLeast() + " ranks ("
                    + limits.names().atLeast() + ") are there after " + limit / 1_000 + " s (" + flag() + ")"
                    + missing() + firstLost());
        } else {
            say(() -> chosen.size() + " ranks are there and the next generation needs " + needed() + missing()
                    + "; it waits for up to " + limit / 1_000 + " s (" + flag() + ")");
        }
    }

    private String flag() {
        return generation < 0 ? limits.names().start() : limits.names().timeout();
    }

    /** Tells the user after a while whom the others wait for, and again when that has changed. */
    private void say(Supplier<String> sentence) {
        if (now - Math.max(brokenSince, saidAt) < QUIET_MILLIS) {
            return;
        }
        String next = sentence.get();
        if (!next.equals(said)) {
            said = next;
            saidAt = now;
            orders.add(new Say(next));
        }
    }

    private int needed() {
        return generation < 0 ? limits.first() : limits.atLeast();
    }

    private boolean noneIsToCome() {
        return announced && in(State.STARTED).isEmpty();
    }

    private String missing() {
        String started = names(in(State.STARTED), worker -> true);
        String silent = names(List.copyOf(workers.values()), worker -> worker.waits() && worker.isSilent(now));
        return (missing.isEmpty() ? "" : "; missing are " + String.join(", ", missing))
                + (started.isEmpty() ? "" : "; started, and not there yet, are " + started)
                + (silent.isEmpty() ? "" : "; no sign of life comes from " + silent);
    }

    private String firstLost() {
        return firstLoss.isEmpty() ? "" : "; first " + firstLoss;
    }

    private void begin(List<Worker> chosen) {
        if (generation >= limits.resets()) {
            finish("the job has had " + limits.resets() + " resets, which is its limit ("
                    + limits.names().resets() + ")" + missing());
            return;
        }
        List<Worker> byRank = ranked(chosen);
        generation++;
        broken = false;
        failure = "";
        interrupted = false;
        abandoned = false;
        said = "";
        firstLoss = "";
        missing.subList(0, Math.max(0, missing.size() - Math.max(0, limits.first() - chosen.size())))
                .clear(); // the others have taken the places of those that have gone first
        int root = 0;
        for (int rank = 0; rank < byRank.size(); rank++) {
            Worker worker = byRank.get(rank);
            worker.rank = rank;
            worker.state = State.MEMBER;
            worker.unreachable = Set.of();
            root = worker.step > byRank.get(root).step ? rank : root;
        }
        in(State.READY).forEach(Worker::beginAnew);
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
