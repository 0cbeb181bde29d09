package io.hvd.contract.program;

import io.hvd.Compression;
import io.hvd.contract.program.Op.Content;
import io.hvd.contract.program.Op.Flaw;
import io.hvd.contract.program.Op.How;
import io.hvd.contract.program.Op.Who;
import io.hvd.tensor.DType;
import io.hvd.tensor.JoinDivisor;
import io.hvd.tensor.ReduceOp;
import java.util.ArrayList;
import java.util.List;

/** Draws a program's operations, and keeps them. */
public final class Operations {
    private static final int[] STAGES = {4_096, 65_536, 262_144};
    private static final int[] RUNS = {256, 512, 1_024, 2_048, 4_096};

    private final Draw draw;
    private final List<List<Integer>> sets;
    private final int mostBytes;
    private final List<Op> ops = new ArrayList<>();

    /**
     * @param sets members by number; more may come
     * @param mostBytes of one rank's tensors in an operation
     */
    public Operations(Draw draw, List<List<Integer>> sets, int mostBytes) {
        this.draw = draw;
        this.sets = sets;
        this.mostBytes = mostBytes;
    }

    public List<Op> all() {
        return ops;
    }

    /** An operation of all members that nothing is wrong with. */
    public Op op(String name, Kind kind, int set, boolean small) {
        return op(name, kind, set, members(kind, set), small);
    }

    private List<Integer> members(Kind kind, int set) {
        List<Integer> all = sets.get(set);
        return kind == Kind.TRANSFER ? draw.shuffled(all).subList(0, 2) : all;
    }

    Op op(String name, Kind kind, int set, List<Integer> members, boolean small) {
        DType type = draw.one(DType.values());
        How how = kind.reduces() ? how(kind, type, members.size()) : How.NONE;
        Recipe recipe = kind.reduces() ? recipe(type, how) : Recipe.WILD;
        if (how.scales() && how.op() == ReduceOp.AVERAGE && !type.isFloating()) {
            recipe = Recipe.DIVISIBLE;
        }
        Content content = content(kind, type, recipe, members.size(), small);
        return keep(new Op(
                ops.size(),
                name,
                kind,
                set,
                Who.all(members),
                content,
                how,
                draw.one(members),
                draw.seed(),
                draw.seed(),
                Flaw.NONE,
                0));
    }

    /** Repeats a call with other values. */
    Op again(Op op) {
        return keep(op.again(ops.size(), draw.seed()));
    }

    Op flawed(Op op, Flaw flaw) {
        return replace(op.with(flaw));
    }

    public Op limited(Op op, int millis) {
        return replace(op.within(millis));
    }

    /** @param join the operation by which the others have joined */
    Op withoutJoined(Op op, List<Integer> contributors, Op join) {
        int divisor = join.joinDivisor() == JoinDivisor.ACTIVE ? contributors.size() : op.size();
        return replace(op.with(new Who(op.members(), List.copyOf(contributors), divisor, join.id())));
    }

    /** A new process set. @param members of it */
    Op adding(int set, List<Integer> members) {
        return ofSet(Kind.ADD_SET, set, new Who(sets.get(0), members, 1, -1));
    }

    Op removing(int set) {
        return ofSet(Kind.REMOVE_SET, set, Who.all(sets.get(0)));
    }

    private Op ofSet(Kind kind, int set, Who who) {
        return keep(new Op(
                ops.size(), null, kind, set, who, Content.NONE, How.NONE, 0, draw.seed(), draw.seed(), Flaw.NONE, 0));
    }

    private Op keep(Op op) {
        ops.add(op);
        return op;
    }

    private Op replace(Op op) {
        ops.set(op.id(), op);
        return op;
    }

    /** Draws one of the kinds that may go wrong in such a way; its last rank is at odds with the others. */
    Op mismatched(Op op) {
        List<Flaw.What> ways = new ArrayList<>();
        switch (op.kind()) {
            case ALLREDUCE ->
                ways.addAll(List.of(Flaw.What.SHAPE, Flaw.What.TYPE, Flaw.What.REDUCE_OP, Flaw.What.KIND));
            case GROUP_ALLREDUCE, ALLGATHER, GROUP_ALLGATHER, TRANSFER ->
                ways.addAll(List.of(Flaw.What.SHAPE, Flaw.What.TYPE));
            case BROADCAST -> ways.addAll(List.of(Flaw.What.SHAPE, Flaw.What.TYPE, Flaw.What.ROOT, Flaw.What.KIND));
            case REDUCESCATTER, GROUP_REDUCESCATTER -> ways.addAll(List.of(Flaw.What.SHAPE, Flaw.What.TYPE));
            case REDUCE, GATHER -> ways.addAll(List.of(Flaw.What.SHAPE, Flaw.What.ROOT));
            case SCATTER -> ways.add(Flaw.What.ROOT);
            default -> ways.add(Flaw.What.TYPE);
        }
        if (op.kind().reduces() && op.content().type() != DType.BOOL) {
            ways.add(Flaw.What.SCALE);
        }
        return flawed(op, new Flaw(draw.one(ways), draw.one(op.members())));
    }

    private How how(Kind kind, DType type, int ranks) {
        List<ReduceOp> choices = new ArrayList<>(List.of(ReduceOp.SUM, ReduceOp.AVERAGE));
        if (!kind.scatters()) {
            choices.addAll(List.of(ReduceOp.MIN, ReduceOp.MAX, ReduceOp.PRODUCT));
        }
        if (type == DType.BOOL) {
            choices.remove(ReduceOp.AVERAGE);
        }
        ReduceOp op = draw.one(choices);
        boolean scales = draw.chance(0.25) && mayScale(type, op);
        Compression compression = draw.chance(0.2) ? draw.one(Compression.FP16, Compression.BF16) : Compression.NONE;
        return new How(op, scales ? factor(type) : 1, scales ? factor(type) : 1, compression);
    }

    private static boolean mayScale(DType type, ReduceOp op) {
        return type != DType.BOOL
                && op != ReduceOp.PRODUCT
                && !(op == ReduceOp.AVERAGE && type.bytes() == 1); // its sums would not fit
    }

    private double factor(DType type) {
        return Elements.isUnsigned(type) ? draw.one(1.0, 2.0, 0.5) : draw.one(1.0, 2.0, 0.5, -1.0);
    }

    private Recipe recipe(DType type, How how) {
        if (!type.isFloating()) {
            return how.scales() || draw.chance(0.1) ? Recipe.SMALL : Recipe.WILD;
        }
        boolean compressed = how.compression() != Compression.NONE;
        if (how.op() == ReduceOp.PRODUCT) {
            return Recipe.POWERS;
        }
        if (how.scales() || compressed) {
            return Recipe.SMALL;
        }
        if (how.op() == ReduceOp.MIN || how.op() == ReduceOp.MAX) {
            return draw.one(Recipe.WILD, Recipe.SMALL, Recipe.SPECIAL);
        }
        return type.isHalf()
                ? draw.one(Recipe.SMALL, Recipe.SPECIAL)
                : draw.one(Recipe.SMALL, Recipe.SPECIAL, Recipe.ANY);
    }

    private Content content(Kind kind, DType type, Recipe recipe, int ranks, boolean small) {
        int count = kind.isGroup() ? draw.between(1, 4) : 1;
        boolean mayBeScalar = kind == Kind.ALLREDUCE || kind == Kind.BROADCAST || kind == Kind.TRANSFER;
        if (mayBeScalar && draw.chance(0.08)) {
            return new Content(type, -1, 1, count, false, recipe);
        }
        int columns = draw.one(1, 1, 1, 2, 3, 4);
        int most = mostBytes / Math.max(4, type.bytes()) / count;
        int elements = small ? draw.between(0, 40) : Math.min(elements(type), most);
        int rows = elements / columns;
        boolean mixed = kind.isGroup() && draw.chance(0.4);
        return new Content(type, kind == Kind.ALLTOALL ? rows / ranks : rows, columns, count, mixed, recipe);
    }

    /** Nothing, one, all lengths about vectors, and borders of whatever is cut into pieces. */
    private int elements(DType type) {
        int choice = draw.below(100);
        if (choice < 5) {
            return 0;
        }
        if (choice < 12) {
            return 1;
        }
        if (choice < 70) {
            return draw.between(2, 300);
        }
        if (choice < 85) {
            return RUNS[draw.below(RUNS.length)] + draw.between(-3, 3);
        }
        if (choice < 98) {
            int border = STAGES[draw.below(STAGES.length)] / type.bytes() * draw.between(1, 3);
            return border + draw.between(-3, 3);
        }
        return draw.between(30_000, 100_000);
    }
}
