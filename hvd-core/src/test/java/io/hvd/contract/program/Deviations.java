package io.hvd.contract.program;

import io.hvd.contract.program.Op.Flaw;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.IntStream;

/** Draws what a program does beside the steps that repeat, each time for all ranks. */
final class Deviations {
    /** A rank that the others are not to wait for computes so long. */
    private static final int LONG_MILLIS = 5_000;
    /** The limit of a barrier that everybody is to pass is more than all ranks compute in a program, and than hvd may take. */
    private static final int SURE_MILLIS = 6 * LONG_MILLIS;

    private final Draw draw;
    private final Operations operations;
    private final List<List<Integer>> sets;
    private final int ranks;
    private final boolean slow;
    private final boolean inPhases;
    private final List<Integer> all;
    private final Map<Integer, Set<Integer>> needs = new HashMap<>();
    /** Strand that has added a set, by set. */
    private final Map<Integer, Integer> adders = new HashMap<>();
    /** Process sets that are there. */
    private final Set<Integer> live = new TreeSet<>(Set.of(0));
    /** Until which step an operation is under way that some have not asked for yet, by set. */
    private final Map<Integer, Integer> openUntil = new HashMap<>();
    /** The rest that a sequence of this step leaves for later ones. */
    private final Map<Sequence, Map<Integer, List<Sequence>>> later = new IdentityHashMap<>();

    private final Map<Sequence, Runnable> consequences = new IdentityHashMap<>();
    /** These are the operations that come again in this step. */
    private final Set<String> usedNames = new TreeSet<>();

    private int strands;
    private int threads;
    private int names;

    /**
     * @param slow whether ranks compute for seconds
     * @param inPhases whether they announce it
     */
    Deviations(Draw draw, Operations operations, List<List<Integer>> sets, int ranks, boolean slow, boolean inPhases) {
        this.draw = draw;
        this.operations = operations;
        this.sets = sets;
        this.ranks = ranks;
        this.slow = slow;
        this.inPhases = inPhases;
        this.all = IntStream.range(0, ranks).boxed().toList();
    }

    int strand() {
        return strands++;
    }

    int thread() {
        return threads++;
    }

    /** A strand cannot be without another one. */
    void need(int strand, int other) {
        needs.computeIfAbsent(strand, any -> new TreeSet<>()).add(other);
    }

    Map<Integer, Set<Integer>> needs() {
        return needs;
    }

    /** Members of a process set that is not there yet, which is there from now on; none if all are there. */
    Optional<Integer> newMembers() {
        for (int attempt = 0; attempt < 4 && ranks > 1; attempt++) {
            List<Integer> members = draw.some(all, 1);
            if (members.size() < ranks
                    && live.stream().noneMatch(set -> sets.get(set).equals(members))) {
                sets.add(List.copyOf(members));
                live.add(sets.size() - 1);
                return Optional.of(sets.size() - 1);
            }
        }
        return Optional.empty();
    }

    /** The rests that the sequences of a step leave for later steps, by step. */
    Map<Integer, List<Sequence>> takeLater(List<Sequence> made) {
        Map<Integer, List<Sequence>> all = new TreeMap<>();
        for (Sequence sequence : made) {
            consequences.getOrDefault(sequence, () -> {}).run();
            later.getOrDefault(sequence, Map.of())
                    .forEach((step, left) ->
                            all.computeIfAbsent(step, any -> new ArrayList<>()).addAll(left));
        }
        consequences.clear();
        later.clear();
        return all;
    }

    /** One rank computes for long; what the others do among themselves, and what they have begun, is not to wait for it. */
    List<Sequence> slow(int step) {
        List<Sequence> chosen = new ArrayList<>();
        int busy = draw.below(ranks);
        chosen.add(computing(busy, LONG_MILLIS));
        List<Integer> others = all.stream().filter(rank -> rank != busy).toList();
        if (others.size() > 1 && draw.chance(0.6)) {
            chosen.add(transfers(others));
        }
        if (draw.chance(0.5)) {
            chosen.add(draw.chance(0.6) ? limitedBarrier(0) : barrier(0));
        }
        if (ranks > 1 && draw.chance(0.5)) {
            chosen.add(early(step));
        }
        return chosen;
    }

    /** Anything. */
    Sequence next(int step) {
        int choice = draw.below(100);
        if (choice < 22) {
            return extra();
        }
        if (choice < 28) {
            return barrier(anySet());
        }
        if (choice < 34) {
            return limitedBarrier(anySet());
        }
        if (choice < 36) {
            return expiringBarrier();
        }
        if (choice < 46) {
            return ranks > 1 ? transfers(all) : extra();
        }
        if (choice < 52) {
            return computing(draw.below(ranks), slow && draw.chance(0.3) ? LONG_MILLIS : draw.between(1, 40));
        }
        if (choice < 57) {
            return unnamed(anySet());
        }
        if (choice < 60) {
            return objects(anySet());
        }
        if (choice < 66) {
            return setLife(step);
        }
        if (choice < 71) {
            return join(step);
        }
        if (choice < 75) {
            return refusedCalls();
        }
        if (choice < 79) {
            return ranks > 1 ? duplicate() : extra();
        }
        if (choice < 84) {
            return otherThread();
        }
        if (choice < 91) {
            return ranks > 1 ? early(step) : lateRead(step);
        }
        if (choice < 95) {
            return lateRead(step);
        }
        return mismatch();
    }

    private int anySet() {
        return draw.chance(0.4) ? 0 : draw.one(List.copyOf(live));
    }

    /** Which of them comes when is left to how the step is put together. */
    private Sequence extra() {
        Sequence sequence = new Sequence(ranks);
        boolean ordered = draw.chance(0.5);
        int set = anySet();
        List<Op> ops = new ArrayList<>();
        for (int i = draw.between(1, 3); i > 0; i--) {
            ops.add(operations.op(passingName("x"), anyKind(set), set, false));
        }
        addExchange(sequence.touching(set), ops, ordered);
        return sequence;
    }

    private Kind anyKind(int set) {
        if (draw.chance(0.35)) {
            return draw.one(Kind.ALLREDUCE, Kind.GROUP_ALLREDUCE);
        }
        Kind kind = Kind.values()[draw.below(Kind.BARRIER.ordinal())];
        return kind == Kind.TRANSFER ? (sets.get(set).size() > 1 ? Kind.SCATTER : Kind.ALLREDUCE) : kind;
    }

    /** Every member asks for all of them, blocking or not; with other ranks' order only where nothing blocks. */
    private void addExchange(Sequence sequence, List<Op> ops, boolean ordered) {
        List<Integer> numbers = ops.stream().map(op -> strandOn(op.set())).toList();
        for (int rank : all) {
            List<Action> starts = new ArrayList<>();
            List<Action> ends = new ArrayList<>();
            boolean blocks = ordered && draw.chance(0.4);
            for (int i = 0; i < ops.size(); i++) {
                Op op = ops.get(i);
                if (!op.members().contains(rank)) {
                    continue;
                }
                if (blocks || !op.kind().mayBeAsynchronous()) {
                    ends.add(Action.call(numbers.get(i), op));
                } else {
                    starts.add(Action.start(numbers.get(i), op));
                    ends.add(Action.finish(numbers.get(i), op, way()));
                }
            }
            sequence.addAll(rank, ordered ? starts : draw.shuffled(starts)).addAll(rank, ends);
        }
    }

    /** A new strand, which needs that the set has been added. */
    private int strandOn(int set) {
        int strand = strand();
        if (adders.containsKey(set)) {
            need(strand, adders.get(set));
        }
        return strand;
    }

    private int way() {
        return draw.one(Action.SYNCHRONIZE, Action.SYNCHRONIZE, Action.SYNCHRONIZE, Action.POLL, Action.CALLBACK);
    }

    /** A name of its own. */
    private String name(String base) {
        return base + "." + names++;
    }

    /** For what is awaited in this step: a new name, or one of a few that come again. */
    private String passingName(String base) {
        String again = base + draw.below(6);
        return draw.chance(0.5) && usedNames.add(again) ? again : name(base);
    }

    private Sequence barrier(int set) {
        Sequence sequence = new Sequence(ranks).counting(set);
        Op op = operations.op(null, Kind.BARRIER, set, true);
        addExchange(sequence, List.of(op), true);
        return sequence;
    }

    private Sequence limitedBarrier(int set) {
        Op op = operations.op(null, Kind.LIMITED_BARRIER, set, true);
        op = operations.limited(op, slow ? SURE_MILLIS : SURE_MILLIS / 2);
        Sequence sequence = new Sequence(ranks).counting(set);
        addExchange(sequence, List.of(op), true);
        return sequence;
    }

    /** Some come after its end. */
    private Sequence expiringBarrier() {
        int set = anySet();
        List<Integer> members = sets.get(set);
        if (members.size() == 1) {
            return limitedBarrier(set);
        }
        Op op = operations.limited(operations.op(null, Kind.LIMITED_BARRIER, set, true), draw.between(400, 800));
        List<Integer> late = draw.some(members, 1);
        int strand = strandOn(set);
        Sequence sequence = new Sequence(ranks).counting(set);
        for (int rank : members) {
            if (late.contains(rank) && late.size() < members.size()) {
                sequence.add(rank, Action.compute(strand, op.limitMillis() + 1_000, inPhases));
            }
            sequence.add(rank, Action.call(strand, op));
        }
        return sequence;
    }

    private Sequence transfers(List<Integer> among) {
        Sequence sequence = new Sequence(ranks);
        List<Op> ops = new ArrayList<>();
        for (int i = draw.between(1, 3); i > 0; i--) {
            List<Integer> pair = draw.shuffled(among).subList(0, 2);
            ops.add(operations.op(String.valueOf(100 + names++), Kind.TRANSFER, 0, pair, draw.chance(0.5)));
        }
        addExchange(sequence, ops, true);
        return sequence;
    }

    private Sequence computing(int rank, int millis) {
        boolean phase = inPhases || draw.chance(0.3);
        return new Sequence(ranks).add(rank, Action.compute(strand(), millis, phase));
    }

    private Sequence unnamed(int set) {
        Sequence sequence = new Sequence(ranks).counting(set);
        List<Op> ops = new ArrayList<>();
        for (int i = draw.between(1, 3); i > 0; i--) {
            ops.add(operations.op(null, anyKind(set), set, true));
        }
        addExchange(sequence, ops, true);
        return sequence;
    }

    private Sequence objects(int set) {
        Sequence sequence = new Sequence(ranks).touching(set);
        Kind kind = draw.one(Kind.BROADCAST_OBJECT, Kind.ALLGATHER_OBJECT);
        addExchange(sequence, List.of(operations.op(passingName("o"), kind, set, true)), true);
        return sequence;
    }

    /** A process set comes, does something, and goes at once, later, or not at all. */
    private Sequence setLife(int step) {
        Set<Integer> before = new TreeSet<>(live);
        Optional<Integer> made = newMembers();
        if (made.isEmpty()) {
            return extra();
        }
        int set = made.get();
        live.retainAll(before); // unless the sequence is taken
        int strand = strand();
        adders.put(set, strand);
        Sequence sequence = new Sequence(ranks).counting(0).touching(set);
        Op add = operations.adding(set, sets.get(set));
        all.forEach(rank -> sequence.add(rank, Action.call(strand, add)));
        if (draw.chance(0.2)) {
            int again = strandOn(set);
            Op known = operations.flawed(operations.adding(set, sets.get(set)), new Flaw(Flaw.What.KNOWN_SET, -1));
            all.forEach(rank -> sequence.add(rank, Action.call(again, known)));
        }
        List<Op> ops = new ArrayList<>();
        for (int i = draw.between(0, 3); i > 0; i--) {
            boolean barrier = draw.chance(0.2);
            ops.add(
                    barrier
                            ? operations.op(null, Kind.BARRIER, set, true)
                            : operations.op(name("s"), anyKind(set), set, false));
        }
        addExchange(sequence, ops, true);
        int fate = draw.below(10);
        if (fate < 5) {
            addRemoval(sequence, set);
            return sequence.aloneOn(set);
        }
        consequences.put(sequence, () -> live.add(set));
        if (fate < 9) {
            int when = step + draw.between(1, 4);
            consequences.put(sequence, () -> {
                live.add(set);
                removals.put(set, when);
            });
            Sequence removal = new Sequence(ranks).counting(0).aloneOn(set);
            addRemoval(removal, set);
            later.put(sequence, Map.of(when, List.of(removal)));
        }
        return sequence;
    }

    /** When sets go, by number. */
    private final Map<Integer, Integer> removals = new HashMap<>();

    private void addRemoval(Sequence sequence, int set) {
        int strand = strandOn(set);
        Op op = operations.removing(set);
        all.forEach(rank -> sequence.add(rank, Action.call(strand, op)));
    }

    /** A step begins; a set is no longer to be used from its last step on. */
    void begin(int step) {
        usedNames.clear();
        removals.forEach((set, when) -> {
            if (when <= step) {
                live.remove(set);
            }
        });
        removals.values().removeIf(when -> when <= step);
    }

    /** Each member has its own number of steps, and then joins. */
    private Sequence join(int step) {
        int set = anySet();
        if (openUntil.getOrDefault(set, -1) >= step) {
            return extra();
        }
        List<Integer> members = sets.get(set);
        Sequence sequence = new Sequence(ranks).aloneOn(set);
        int strand = strandOn(set);
        Op join = operations.op(null, Kind.JOIN, set, true);
        if (members.size() > 1 && draw.chance(0.1)) {
            Op odd = operations.flawed(join, new Flaw(Flaw.What.DIVISOR, draw.one(members)));
            members.forEach(rank -> sequence.add(rank, Action.call(strand, odd)));
            return sequence;
        }
        Map<Integer, List<Action>> ends = new HashMap<>();
        int most = draw.between(0, 3);
        int[] steps = all.stream().mapToInt(rank -> draw.between(0, most)).toArray();
        for (int i = 0; i < most; i++) {
            int now = i;
            List<Integer> active =
                    members.stream().filter(rank -> steps[rank] > now).toList();
            if (!active.isEmpty()) {
                addStepBesideJoined(sequence, ends, strand, join, active);
            }
        }
        for (int rank : members) {
            sequence.add(rank, Action.call(strand, join)).addAll(rank, ends.getOrDefault(rank, List.of()));
        }
        return sequence;
    }

    private void addStepBesideJoined(
            Sequence sequence, Map<Integer, List<Action>> ends, int strand, Op join, List<Integer> active) {
        boolean cannot = active.size() < sets.get(join.set()).size() && draw.chance(0.15);
        Kind kind = cannot
                ? draw.one(Kind.ALLGATHER, Kind.BROADCAST, Kind.REDUCESCATTER)
                : draw.one(Kind.ALLREDUCE, Kind.ALLREDUCE, Kind.GROUP_ALLREDUCE);
        Op op = operations.withoutJoined(operations.op(name("j"), kind, join.set(), false), active, join);
        if (cannot) {
            op = operations.flawed(op, new Flaw(Flaw.What.JOINED, -1));
        }
        for (int rank : active) {
            if (draw.chance(0.5)) {
                sequence.add(rank, Action.call(strand, op));
            } else {
                sequence.add(rank, Action.start(strand, op));
                ends.computeIfAbsent(rank, any -> new ArrayList<>()).add(Action.finish(strand, op, way()));
            }
        }
    }

    private Sequence refusedCalls() {
        Sequence sequence = new Sequence(ranks);
        for (int rank : draw.some(all, 1)) {
            int set = anySet();
            sequence.touching(set).add(rank, Action.refused(strandOn(set), draw.below(Refused.VARIANTS), set));
        }
        return sequence;
    }

    /** The name of an operation on its way is asked for again, while another rank keeps it from being done. */
    private Sequence duplicate() {
        List<Integer> pair = draw.shuffled(all).subList(0, 2);
        int twice = pair.get(0);
        int keeper = pair.get(1);
        Kind kind = draw.one(Kind.ALLREDUCE, Kind.ALLREDUCE, Kind.ALLGATHER, Kind.BROADCAST);
        Op op = operations.op(name("d") + ".1", kind, 0, true);
        Op gate = operations.op(String.valueOf(100 + names++), Kind.TRANSFER, 0, List.of(twice, keeper), true);
        int strand = strand();
        Sequence sequence = new Sequence(ranks).touching(0);
        for (int rank : all) {
            if (rank == twice) {
                sequence.add(rank, Action.start(strand, op), Action.duplicate(strand, op, draw.below(4)));
                sequence.add(rank, Action.call(strand, gate), Action.finish(strand, op, way()));
            } else if (rank == keeper) {
                sequence.add(rank, Action.call(strand, gate), Action.call(strand, op));
            } else {
                sequence.add(rank, Action.call(strand, op));
            }
        }
        return sequence;
    }

    /** Some ranks leave the same operations to a thread of their own. */
    private Sequence otherThread() {
        Sequence inner = draw.chance(0.3) && ranks > 1 ? transfers(all) : extra();
        Sequence sequence = new Sequence(ranks);
        live.forEach(sequence::touching);
        List<Integer> forked = draw.some(all, 1);
        for (int rank : all) {
            List<Action> actions = inner.of(rank);
            if (forked.contains(rank) && !actions.isEmpty()) {
                int strand = strand();
                int thread = thread();
                actions.forEach(action -> need(action.strand(), strand));
                sequence.add(rank, Action.fork(strand, thread, List.copyOf(actions)));
                sequence.add(rank, Action.awaitFork(strand, thread));
            } else {
                sequence.addAll(rank, actions);
            }
        }
        return sequence;
    }

    /** Some ask for an operation now, the others some steps later, or later in this one. */
    private Sequence early(int step) {
        Kind kind = draw.one(
                Kind.ALLREDUCE, Kind.ALLREDUCE, Kind.ALLREDUCE, Kind.ALLGATHER, Kind.BROADCAST, Kind.GROUP_ALLREDUCE);
        Op op = operations.op(name("e"), kind, 0, draw.chance(0.7));
        List<Integer> first = draw.some(all, 1);
        int strand = strand();
        Sequence sequence = new Sequence(ranks).touching(0);
        first.forEach(rank -> sequence.add(rank, Action.start(strand, op)));
        boolean now = first.size() == ranks || draw.chance(0.5);
        Sequence rest = now ? sequence : new Sequence(ranks).touching(0);
        all.stream().filter(rank -> !first.contains(rank)).forEach(rank -> rest.add(rank, Action.start(strand, op)));
        all.forEach(rank -> rest.add(rank, Action.finish(strand, op, way())));
        if (!now) {
            int when = step + draw.between(1, 4);
            consequences.put(sequence, () -> openUntil.merge(0, when, Math::max));
            later.put(sequence, Map.of(when, List.of(rest)));
        }
        return sequence;
    }

    /** All have asked for it long before some ask what has become of it; others never do. */
    private Sequence lateRead(int step) {
        int set = anySet();
        Op op = operations.op(name("l"), anyKind(set), set, draw.chance(0.7));
        int strand = strandOn(set);
        Sequence sequence = new Sequence(ranks).touching(set);
        Map<Integer, List<Sequence>> due = new HashMap<>();
        for (int rank : op.members()) {
            sequence.add(rank, Action.start(strand, op));
            if (draw.chance(0.7)) {
                Sequence end = new Sequence(ranks).add(rank, Action.finish(strand, op, way()));
                due.computeIfAbsent(step + draw.between(1, 5), any -> new ArrayList<>())
                        .add(end);
            }
        }
        later.put(sequence, due);
        return sequence;
    }

    private Sequence mismatch() {
        int set = anySet();
        Op op = operations.op(passingName("m"), anyKind(set), set, true);
        if (op.size() > 1) {
            operations.mismatched(op);
        }
        Sequence sequence = new Sequence(ranks).touching(set);
        addExchange(sequence, List.of(operations.all().get(op.id())), true);
        return sequence;
    }
}
