package io.hvd.contract.program;

import io.hvd.tensor.DType;
import java.util.ArrayList;
import java.util.List;

/** The operations that come in every step, as gradients do in a training. */
final class Body {
    private final Draw draw;
    private final Operations operations;
    private final Deviations strands;
    private final int ranks;
    private final List<Op> templates = new ArrayList<>();
    private final Style style;

    private enum Style {
        /** One after the other. */
        BLOCKING,
        /** All are asked for, then all are awaited. */
        ASYNCHRONOUS,
        /** The calls in another order on each rank. */
        SHUFFLED,
        /** Some are awaited before others are asked for. */
        OVERLAPPING
    }

    Body(Draw draw, Operations operations, Deviations strands, int ranks, int number) {
        this.draw = draw;
        this.operations = operations;
        this.strands = strands;
        this.ranks = ranks;
        this.style = draw.one(Style.values());
        boolean settles = draw.chance(0.8);
        for (int i = draw.between(1, 5); i > 0; i--) {
            templates.add(template("b" + number + "." + i, settles));
        }
    }

    /** @param settles whether it must be of a kind that may become part of a fixed plan */
    private Op template(String name, boolean settles) {
        while (true) {
            Kind kind = settles
                    ? draw.one(Kind.ALLREDUCE, Kind.ALLREDUCE, Kind.ALLREDUCE, Kind.GROUP_ALLREDUCE)
                    : draw.one(
                            Kind.ALLREDUCE,
                            Kind.ALLREDUCE,
                            Kind.ALLGATHER,
                            Kind.BROADCAST,
                            Kind.REDUCESCATTER,
                            Kind.ALLTOALL);
            Op op = operations.op(name, kind, 0, draw.chance(0.6));
            DType type = op.content().type();
            if (!settles || (type.bytes() > 1 && op.content().elements() < 40_000)) {
                return op;
            }
        }
    }

    /** @param deviates whether something about it is to be otherwise than usual */
    Sequence step(boolean deviates) {
        Change change = deviates ? draw.one(Change.values()) : Change.NOTHING;
        int odd = draw.below(templates.size());
        List<Op> ops = new ArrayList<>();
        List<Integer> numbers = new ArrayList<>();
        for (int i = 0; i < templates.size(); i++) {
            if (change != Change.ONE_MISSING || i != odd) {
                ops.add(instance(i, i == odd ? change : Change.NOTHING));
                numbers.add(strands.strand());
            }
        }
        Sequence sequence = new Sequence(ranks).touching(0);
        int oddRank = draw.below(ranks);
        for (int rank = 0; rank < ranks; rank++) {
            boolean changed = rank == oddRank;
            List<Action> actions = change == Change.LATE_ON_ONE && changed && style != Style.BLOCKING
                    ? late(ops, numbers, Math.min(odd, ops.size() - 1))
                    : actions(ops, numbers, change == Change.ANOTHER_ORDER ? Style.SHUFFLED : style);
            if (change == Change.ANOTHER_THREAD && changed && !actions.isEmpty()) {
                int thread = strands.thread();
                int strand = strands.strand();
                numbers.forEach(number -> strands.need(number, strand));
                sequence.add(rank, Action.fork(strand, thread, actions), Action.awaitFork(strand, thread));
            } else {
                sequence.addAll(rank, actions);
            }
        }
        return sequence;
    }

    private enum Change {
        NOTHING,
        ONE_MISSING,
        LATE_ON_ONE,
        ANOTHER_ORDER,
        ANOTHER_SHAPE,
        MISMATCH,
        ANOTHER_THREAD
    }

    private Op instance(int i, Change change) {
        Op template = templates.get(i);
        return switch (change) {
            case ANOTHER_SHAPE -> operations.op(template.name(), template.kind(), 0, true);
            case MISMATCH -> ranks > 1 ? operations.mismatched(operations.again(template)) : operations.again(template);
            default -> operations.again(template);
        };
    }

    private List<Action> actions(List<Op> ops, List<Integer> numbers, Style how) {
        List<List<Action>> pairs = new ArrayList<>();
        List<Action> starts = new ArrayList<>();
        List<Action> ends = new ArrayList<>();
        List<Action> calls = new ArrayList<>();
        for (int i = 0; i < ops.size(); i++) {
            Action start = Action.start(numbers.get(i), ops.get(i));
            Action end = Action.finish(numbers.get(i), ops.get(i), way());
            starts.add(start);
            ends.add(end);
            pairs.add(List.of(start, end));
            calls.add(Action.call(numbers.get(i), ops.get(i)));
        }
        return switch (how) {
            case BLOCKING -> calls;
            case ASYNCHRONOUS -> joined(starts, ends);
            case SHUFFLED -> joined(draw.shuffled(starts), draw.shuffled(ends));
            case OVERLAPPING -> overlapping(pairs);
        };
    }

    /** In the order of the operations, each awaited at most two operations later. */
    private List<Action> overlapping(List<List<Action>> pairs) {
        List<Action> all = new ArrayList<>();
        int ended = 0;
        for (int i = 0; i < pairs.size(); i++) {
            all.add(pairs.get(i).get(0));
            if (draw.chance(0.3)) {
                all.add(pairs.get(ended++).get(1));
            }
        }
        for (; ended < pairs.size(); ended++) {
            all.add(pairs.get(ended).get(1));
        }
        return all;
    }

    /** All are asked for, but one of them only when the others are done, and after a while. */
    private List<Action> late(List<Op> ops, List<Integer> numbers, int odd) {
        List<Action> all = new ArrayList<>();
        for (int i = 0; i < ops.size(); i++) {
            if (i != odd) {
                all.add(Action.start(numbers.get(i), ops.get(i)));
            }
        }
        boolean waitsBefore = style != Style.OVERLAPPING && draw.chance(0.5);
        if (waitsBefore) {
            addEnds(all, ops, numbers, odd);
        }
        if (!ops.isEmpty()) {
            all.add(Action.compute(numbers.get(odd), draw.between(0, 30), false));
            all.add(Action.start(numbers.get(odd), ops.get(odd)));
            all.add(Action.finish(numbers.get(odd), ops.get(odd), way()));
        }
        if (!waitsBefore) {
            addEnds(all, ops, numbers, odd);
        }
        return all;
    }

    private void addEnds(List<Action> all, List<Op> ops, List<Integer> numbers, int odd) {
        for (int i = 0; i < ops.size(); i++) {
            if (i != odd) {
                all.add(Action.finish(numbers.get(i), ops.get(i), way()));
            }
        }
    }

    private int way() {
        return draw.one(Action.SYNCHRONIZE, Action.SYNCHRONIZE, Action.SYNCHRONIZE, Action.POLL, Action.CALLBACK);
    }

    private static List<Action> joined(List<Action> first, List<Action> second) {
        List<Action> all = new ArrayList<>(first);
        all.addAll(second);
        return all;
    }
}
