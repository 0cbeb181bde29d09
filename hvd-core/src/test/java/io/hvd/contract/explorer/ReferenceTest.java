package io.hvd.contract.explorer;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.Compression;
import io.hvd.contract.program.Elements;
import io.hvd.contract.program.Kind;
import io.hvd.contract.program.Op;
import io.hvd.contract.program.Op.Content;
import io.hvd.contract.program.Op.Flaw;
import io.hvd.contract.program.Op.How;
import io.hvd.contract.program.Op.Who;
import io.hvd.contract.program.Recipe;
import io.hvd.tensor.DType;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.math.BigInteger;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** The plain loop against arithmetic without limits, and against results in which one element is wrong. */
class ReferenceTest {
    private static final int ELEMENTS = 64;
    private static final List<ReduceOp> REDUCTIONS =
            List.of(ReduceOp.SUM, ReduceOp.AVERAGE, ReduceOp.MIN, ReduceOp.MAX, ReduceOp.PRODUCT);

    private static Op op(Kind kind, DType type, ReduceOp reduce, Recipe recipe) {
        return new Op(
                0,
                "op",
                kind,
                0,
                Who.all(List.of(0, 1, 2)),
                new Content(type, ELEMENTS, 1, 1, false, recipe),
                new How(reduce, 1, 1, Compression.NONE),
                1,
                5,
                7,
                Flaw.NONE,
                0);
    }

    @Test
    void integersWrapAroundAndAveragesAreExactAndCutOff() {
        Stream.of(DType.values())
                .filter(type -> !type.isFloating() && type != DType.BOOL)
                .forEach(type -> REDUCTIONS.forEach(reduce -> {
                    Op op = op(Kind.ALLREDUCE, type, reduce, Recipe.WILD);
                    Object right = Elements.array(type, ELEMENTS);
                    Elements.fill(type, right, 0, ELEMENTS, i -> unlimited(op, i));

                    requireTakenForRight(op, type, right, 0);
                }));
    }

    private static long unlimited(Op op, int index) {
        DType type = op.content().type();
        List<BigInteger> values = op.members().stream()
                .map(rank -> BigInteger.valueOf(op.bits(rank, 0, index)))
                .toList();
        BigInteger result =
                switch (op.how().op()) {
                    case MIN -> values.stream().reduce(BigInteger::min).orElseThrow();
                    case MAX -> values.stream().reduce(BigInteger::max).orElseThrow();
                    case PRODUCT -> values.stream().reduce(BigInteger::multiply).orElseThrow();
                    default -> values.stream().reduce(BigInteger::add).orElseThrow();
                };
        BigInteger wrapped = BigInteger.valueOf(Elements.cut(type, result.longValue()));
        return op.how().op() == ReduceOp.AVERAGE
                ? wrapped.divide(BigInteger.valueOf(3)).longValue()
                : wrapped.longValue();
    }

    @Test
    void truthsAreCombinedByAndAndOr() {
        for (ReduceOp reduce : List.of(ReduceOp.SUM, ReduceOp.MAX, ReduceOp.MIN, ReduceOp.PRODUCT)) {
            Op op = op(Kind.ALLREDUCE, DType.BOOL, reduce, Recipe.WILD);
            boolean any = reduce == ReduceOp.SUM || reduce == ReduceOp.MAX;
            Object right = Elements.array(DType.BOOL, ELEMENTS);
            Elements.fill(DType.BOOL, right, 0, ELEMENTS, i -> {
                long count = op.members().stream()
                        .filter(rank -> op.bits(rank, 0, i) == 1)
                        .count();
                return (any ? count > 0 : count == 3) ? 1 : 0;
            });

            requireTakenForRight(op, DType.BOOL, right, 0);
        }
    }

    @Test
    void sumsOfSmallNumbersAreExactInEveryFloatingType() {
        Stream.of(DType.values()).filter(DType::isFloating).forEach(type -> {
            Op op = op(Kind.ALLREDUCE, type, ReduceOp.SUM, Recipe.SMALL);
            Object right = Elements.array(type, ELEMENTS);
            Elements.fill(
                    type,
                    right,
                    0,
                    ELEMENTS,
                    i -> Elements.of(
                            type,
                            op.members().stream()
                                    .mapToDouble(rank -> Elements.number(type, op.bits(rank, 0, i)))
                                    .sum()));

            requireTakenForRight(op, type, right, 0);
        });
    }

    @Test
    void whatIsOnlyMovedKeepsEveryBit() {
        for (DType type : DType.values()) {
            Op op = op(Kind.BROADCAST, type, ReduceOp.SUM, Recipe.WILD);
            Object right = Elements.array(type, ELEMENTS);
            Elements.fill(type, right, 0, ELEMENTS, i -> op.bits(1, 0, i));

            requireTakenForRight(op, type, right, 2);
        }
    }

    /** And one that differs in a bit, or has an element less, for wrong. */
    private static void requireTakenForRight(Op op, DType type, Object right, int rank) {
        assertThat(new Reference(op, 0).wrong(rank, Tensor.wrap(right, type, Shape.of(ELEMENTS))))
                .as(op.toString())
                .isEmpty();
        long bits = Elements.get(type, right, 13);
        // A high bit, so that no tolerance hides it.
        long another = type == DType.BOOL ? 1 - bits : bits ^ (1L << (8 * type.bytes() - 3));
        Elements.put(type, right, 13, another);
        assertThat(new Reference(op, 0).wrong(rank, Tensor.wrap(right, type, Shape.of(ELEMENTS))))
                .as(op.toString())
                .hasValueSatisfying(what -> assertThat(what).contains("element 13"));
        Tensor shorter = Tensor.wrap(right, 0, ELEMENTS - 1, type, Shape.of(ELEMENTS - 1));
        assertThat(new Reference(op, 0).wrong(rank, shorter)).isPresent();
    }
}
