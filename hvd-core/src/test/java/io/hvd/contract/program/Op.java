package io.hvd.contract.program;

import io.hvd.AllreduceOptions;
import io.hvd.Compression;
import io.hvd.tensor.DType;
import io.hvd.tensor.JoinDivisor;
import io.hvd.tensor.ReduceOp;
import java.util.List;
import java.util.stream.IntStream;

/**
 * One operation of a program. All that a rank needs to take part in it, and to know what comes out, is in here.
 *
 * @param id its place in the program's list
 * @param name null if it has none
 * @param set number of the program's process set; 0 for all ranks
 * @param root global rank, where there is one
 * @param form what the shapes depend on; the same each time that an operation is repeated
 * @param seed what the values depend on
 * @param limitMillis of a barrier
 */
public record Op(
        int id,
        String name,
        Kind kind,
        int set,
        Who who,
        Content content,
        How how,
        int root,
        long form,
        long seed,
        Flaw flaw,
        int limitMillis) {
    /** A shorter one is meant to be too short. */
    static final int SURE_LIMIT_MILLIS = 5_000;

    /**
     * The ranks.
     *
     * @param members global ranks that take part, ascending; the sender and then the receiver of a transfer
     * @param contributors those of them that bring something; the others have joined
     * @param divisor of an average
     * @param joins the operation by which the others have joined; -1 without one
     */
    public record Who(List<Integer> members, List<Integer> contributors, int divisor, int joins) {
        public static Who all(List<Integer> members) {
            return new Who(List.copyOf(members), List.copyOf(members), members.size(), -1);
        }
    }

    /**
     * The tensors.
     *
     * @param rows 0 and more; -1 for a scalar
     * @param columns elements of a row
     * @param count of the tensors of a group
     * @param mixed whether they are not all of one type
     */
    public record Content(DType type, int rows, int columns, int count, boolean mixed, Recipe recipe) {
        public static final Content NONE = new Content(DType.UINT8, 0, 1, 1, false, Recipe.WILD);

        /** Every second tensor of a group of mixed types has another one, with the same recipes. */
        public DType type(int part) {
            if (!mixed || part % 2 == 0) {
                return type;
            }
            return switch (type) {
                case FLOAT32 -> DType.FLOAT64;
                case FLOAT64 -> DType.FLOAT32;
                case FLOAT16 -> DType.BFLOAT16;
                case BFLOAT16 -> DType.FLOAT16;
                case INT32 -> DType.INT64;
                case INT64 -> DType.INT16;
                case INT16 -> DType.INT32;
                case INT8, UINT8, UINT16, BOOL -> type;
            };
        }

        public int elements() {
            return rows < 0 ? 1 : rows * columns;
        }
    }

    /** The arguments of a reduction. */
    public record How(ReduceOp op, double prescale, double postscale, Compression compression) {
        public static final How NONE = new How(ReduceOp.SUM, 1, 1, Compression.NONE);

        public boolean scales() {
            return prescale != 1 || postscale != 1;
        }

        public AllreduceOptions options() {
            return new AllreduceOptions(op, prescale, postscale, compression);
        }
    }

    /** A request of one rank that differs from the others'. */
    public record Flaw(What what, int rank) {
        public static final Flaw NONE = new Flaw(What.NONE, -1);

        public enum What {
            NONE,
            SHAPE,
            TYPE,
            REDUCE_OP,
            SCALE,
            ROOT,
            KIND,
            DIVISOR,
            /** Nobody's: all ask for a process set that is there already. */
            KNOWN_SET,
            /** Nobody's: some have joined, and it cannot do without them. */
            JOINED
        }
    }

    public List<Integer> members() {
        return who.members;
    }

    public List<Integer> contributors() {
        return who.contributors;
    }

    public int divisor() {
        return who.divisor;
    }

    public int joins() {
        return who.joins;
    }

    /** As another operation of the same form, with other values. */
    Op again(int anotherId, long anotherSeed) {
        return new Op(anotherId, name, kind, set, who, content, how, root, form, anotherSeed, flaw, limitMillis);
    }

    Op with(Flaw some) {
        return new Op(id, name, kind, set, who, content, how, root, form, seed, some, limitMillis);
    }

    Op with(Who others) {
        return new Op(id, name, kind, set, others, content, how, root, form, seed, flaw, limitMillis);
    }

    Op within(int millis) {
        return new Op(id, name, kind, set, who, content, how, root, form, seed, flaw, millis);
    }

    /** The divisor of averages while ranks have joined. */
    public JoinDivisor joinDivisor() {
        return JoinDivisor.values()[(int) (form & 1)];
    }

    public boolean isFlawed() {
        return flaw.what != Flaw.What.NONE;
    }

    public boolean isFlawedOn(int rank) {
        return isFlawed() && flaw.rank == rank;
    }

    /** Whether some rank is meant to come too late to a barrier. */
    boolean mayExpire() {
        return kind == Kind.LIMITED_BARRIER && limitMillis < SURE_LIMIT_MILLIS;
    }

    public int size() {
        return members().size();
    }

    public int place(int rank) {
        return members().indexOf(rank);
    }

    /** Rows of a rank's tensor. */
    public int rowsOf(int rank) {
        if (!kind.gathers()) {
            return kind == Kind.ALLTOALL ? sum(splitsOf(rank)) : content.rows;
        }
        return (int) Math.floorMod(Draw.mixed(form, rank), 2L * Math.max(0, content.rows) + 1);
    }

    /** Rows that a rank sends to each member. */
    public int[] splitsOf(int rank) {
        if (hasEvenSplits()) {
            return IntStream.range(0, size()).map(to -> content.rows).toArray();
        }
        long own = Draw.mixed(form, rank);
        return IntStream.range(0, size())
                .map(to -> (int) Math.floorMod(Draw.mixed(own, to), 2L * content.rows + 1))
                .toArray();
    }

    public boolean hasEvenSplits() {
        return (form & 2) == 0;
    }

    private static int sum(int[] values) {
        return IntStream.of(values).sum();
    }

    /** Bits of an element of what a rank brings. @param part of a group's tensors */
    public long bits(int rank, int part, int index) {
        long hash = Draw.mixed(Draw.mixed(seed + part, rank), index);
        return Elements.bits(content.type(part), content.recipe, hash);
    }

    /** Something of a rank's own about this operation, such as where its memory lies. */
    public int choice(int rank, int purpose, int choices) {
        return (int) Math.floorMod(Draw.mixed(Draw.mixed(seed ^ purpose, rank), purpose), (long) choices);
    }

    @Override
    public String toString() {
        StringBuilder text = new StringBuilder("#" + id + " " + kind);
        text.append(name == null ? "" : " \"" + name + "\"");
        if (kind.ordinal() < Kind.BARRIER.ordinal()) {
            text.append(" ")
                    .append(content.type)
                    .append(content.rows < 0 ? "scalar" : "[" + content.rows + ", " + content.columns + "]");
            text.append(kind.isGroup() ? " x " + content.count + (content.mixed ? " mixed" : "") : "")
                    .append(" ")
                    .append(content.recipe);
        }
        if (kind.reduces()) {
            text.append(" ").append(how.op);
            text.append(how.scales() ? " * " + how.prescale + " * " + how.postscale : "");
            text.append(how.compression == Compression.NONE ? "" : " " + how.compression);
        }
        text.append(kind.isRooted() ? " root " + root : "");
        text.append(limitMillis > 0 ? " within " + limitMillis + " ms" : "");
        text.append(kind == Kind.JOIN ? " " + joinDivisor() : "");
        text.append(isFlawed() ? ", another " + flaw.what + " on rank " + flaw.rank : "");
        text.append(contributors().equals(members()) ? "" : ", of ranks " + contributors() + " alone");
        return text.append(set == 0 ? "" : " in set " + set)
                .append(" of ")
                .append(members())
                .toString();
    }
}
