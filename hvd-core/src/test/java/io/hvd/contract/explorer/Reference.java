package io.hvd.contract.explorer;

import io.hvd.Compression;
import io.hvd.contract.program.Elements;
import io.hvd.contract.program.Op;
import io.hvd.contract.program.Recipe;
import io.hvd.tensor.DType;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Tensor;
import java.util.List;
import java.util.Optional;
import java.util.function.IntFunction;
import java.util.function.IntToLongFunction;
import java.util.stream.IntStream;

/** The result that an operation must have, by loops over the ranks' elements that share nothing with hvd's own arithmetic. */
final class Reference {
    private final Op op;
    private final int part;
    private final DType type;

    /** @param part of a group's tensors */
    Reference(Op op, int part) {
        this.op = op;
        this.part = part;
        this.type = op.content().type(part);
    }

    /** The faults of a rank's result; none if it is right. */
    Optional<String> wrong(int rank, Tensor found) {
        return switch (op.kind()) {
            case ALLREDUCE, GROUP_ALLREDUCE -> reduced(found, 0, op.content().elements());
            case REDUCE -> rank == op.root() ? reduced(found, 0, op.content().elements()) : nothing(found);
            case REDUCESCATTER, GROUP_REDUCESCATTER -> {
                int columns = op.content().columns();
                yield reduced(found, firstRow(rank) * columns, rows(rank) * columns);
            }
            case BROADCAST -> moved(found, op.content().elements(), i -> op.bits(op.root(), part, i));
            case ALLGATHER, GROUP_ALLGATHER -> gathered(found);
            case GATHER -> rank == op.root() ? gathered(found) : nothing(found);
            case SCATTER -> {
                int first = firstRow(rank) * op.content().columns();
                yield moved(found, rows(rank) * op.content().columns(), i -> op.bits(op.root(), part, first + i));
            }
            case ALLTOALL -> exchanged(rank, found);
            case TRANSFER ->
                rank == op.members().get(1)
                        ? moved(
                                found,
                                op.content().elements(),
                                i -> op.bits(op.members().get(0), part, i))
                        : Optional.empty();
            default -> nothing(found);
        };
    }

    private static Optional<String> nothing(Tensor found) {
        return found == null ? Optional.empty() : Optional.of(found + " where nothing was to come");
    }

    private int rows(int rank) {
        int place = op.place(rank);
        return op.content().rows() / op.size() + (place < op.content().rows() % op.size() ? 1 : 0);
    }

    /** The first ranks get one row more where they do not go up. */
    private int firstRow(int rank) {
        int place = op.place(rank);
        return op.content().rows() / op.size() * place
                + Math.min(place, op.content().rows() % op.size());
    }

    private Optional<String> gathered(Tensor found) {
        int columns = op.content().columns();
        List<Integer> ranks = op.members();
        return joined(
                found,
                place -> op.rowsOf(ranks.get(place)) * columns,
                place -> i -> op.bits(ranks.get(place), part, i));
    }

    private Optional<String> exchanged(int rank, Tensor found) {
        int columns = op.content().columns();
        int self = op.place(rank);
        List<Integer> ranks = op.members();
        return joined(found, place -> op.splitsOf(ranks.get(place))[self] * columns, place -> {
            int before = IntStream.of(op.splitsOf(ranks.get(place))).limit(self).sum() * columns;
            return i -> op.bits(ranks.get(place), part, before + i);
        });
    }

    /** One piece from each member. */
    private Optional<String> joined(Tensor found, IntFunction<Integer> length, IntFunction<IntToLongFunction> bits) {
        int total = IntStream.range(0, op.size()).map(length::apply).sum();
        Optional<String> unlike = unlike(found, total);
        if (unlike.isPresent()) {
            return unlike;
        }
        Object array = found.toArray();
        int at = 0;
        for (int place = 0; place < op.size(); place++) {
            IntToLongFunction expected = bits.apply(place);
            for (int i = 0; i < length.apply(place); i++, at++) {
                if (Elements.get(type, array, at) != expected.applyAsLong(i)) {
                    return Optional.of(difference(at, Elements.get(type, array, at), expected.applyAsLong(i)));
                }
            }
        }
        return Optional.empty();
    }

    private Optional<String> moved(Tensor found, int elements, IntToLongFunction expected) {
        Optional<String> unlike = unlike(found, elements);
        if (unlike.isPresent()) {
            return unlike;
        }
        Object array = found.toArray();
        for (int i = 0; i < elements; i++) {
            if (Elements.get(type, array, i) != expected.applyAsLong(i)) {
                return Optional.of(difference(i, Elements.get(type, array, i), expected.applyAsLong(i)));
            }
        }
        return Optional.empty();
    }

    private Optional<String> unlike(Tensor found, int elements) {
        if (found == null || found.dtype() != type || found.elements() != elements) {
            return Optional.of(found + " instead of " + elements + " elements of " + type);
        }
        return Optional.empty();
    }

    private String difference(int at, long found, long expected) {
        return "element " + at + " is " + Elements.text(type, found) + " instead of " + Elements.text(type, expected);
    }

    /** Elements {@code first} and following of the reduction. */
    private Optional<String> reduced(Tensor found, int first, int count) {
        Optional<String> unlike = unlike(found, count);
        if (unlike.isPresent()) {
            return unlike;
        }
        Object array = found.toArray();
        for (int i = 0; i < count; i++) {
            long bits = Elements.get(type, array, i);
            if (type.isFloating()) {
                double expected = floating(first + i);
                double value = Elements.number(type, bits);
                if (!isClose(value, expected, first + i)) {
                    return Optional.of("element " + i + " is " + value + " instead of " + expected);
                }
            } else if (bits != whole(first + i)) {
                return Optional.of(difference(i, bits, whole(first + i)));
            }
        }
        return Optional.empty();
    }

    /** Integers wrap around; factors are applied in floating point and cut off; an average is the sum's exact quotient, cut off. */
    private long whole(int index) {
        ReduceOp reduce = op.how().op();
        long result = 0;
        boolean first = true;
        for (int rank : op.contributors()) {
            long value = op.bits(rank, part, index);
            if (op.how().prescale() != 1) {
                value = Elements.cut(type, (long) (value * op.how().prescale()));
            }
            result = first ? value : combined(reduce, result, value);
            first = false;
        }
        if (reduce == ReduceOp.AVERAGE) {
            result /= op.divisor();
        }
        return op.how().postscale() == 1
                ? result
                : Elements.cut(type, (long) (result * op.how().postscale()));
    }

    private long combined(ReduceOp reduce, long one, long other) {
        if (type == DType.BOOL) {
            return reduce == ReduceOp.SUM || reduce == ReduceOp.MAX ? one | other : one & other;
        }
        return Elements.cut(
                type,
                switch (reduce) {
                    case MIN -> Math.min(one, other);
                    case MAX -> Math.max(one, other);
                    case PRODUCT -> one * other;
                    default -> one + other;
                });
    }

    private double floating(int index) {
        ReduceOp reduce = op.how().op();
        double result = 0;
        boolean first = true;
        for (int rank : op.contributors()) {
            double value =
                    Elements.number(type, op.bits(rank, part, index)) * op.how().prescale();
            result = first ? value : combined(reduce, result, value);
            first = false;
        }
        return (reduce == ReduceOp.AVERAGE ? result / op.divisor() : result)
                * op.how().postscale();
    }

    private static double combined(ReduceOp reduce, double one, double other) {
        return switch (reduce) {
            case MIN -> Math.min(one, other);
            case MAX -> Math.max(one, other);
            case PRODUCT -> one * other;
            default -> one + other;
        };
    }

    private boolean isClose(double found, double expected, int index) {
        if (Double.isNaN(expected) || Double.isInfinite(expected)) {
            return Double.compare(found, expected) == 0;
        }
        ReduceOp reduce = op.how().op();
        if (reduce == ReduceOp.MIN || reduce == ReduceOp.MAX) {
            // A negative zero is less than a positive one; a factor may have made either.
            return op.how().scales() ? found == expected : Double.compare(found, expected) == 0;
        }
        return Math.abs(found - expected) <= tolerance(expected, index);
    }

    /** Sums of small whole numbers are exact; an average is rounded where it is divided and where it is kept. */
    private double tolerance(double expected, int index) {
        double precision = Elements.precision(type);
        if (op.how().compression() != Compression.NONE && !type.isHalf()) {
            precision = Elements.precision(op.how().compression() == Compression.FP16 ? DType.FLOAT16 : DType.BFLOAT16);
        }
        double sizes = op.content().recipe() == Recipe.ANY
                ? op.contributors().stream()
                        .mapToDouble(rank -> Math.abs(Elements.number(type, op.bits(rank, part, index))))
                        .sum()
                : 0;
        double average = op.how().op() == ReduceOp.AVERAGE ? 4 * precision * Math.abs(expected) : 0;
        return average + 2 * op.size() * precision * sizes;
    }
}
