package io.hvd.transport.mpi;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.tensor.DType;
import io.hvd.tensor.ReduceOp;
import io.hvd.testing.Exchange;
import io.hvd.transport.mpi.Operators.Operator;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** MPI's operators are plain loops here, and some of them wrong. */
@Timeout(60)
class OperatorsTest {
    private static final Operator LONG_SUM = new Operator(DType.INT64, ReduceOp.SUM);
    private static final Operator INT_SUM = new Operator(DType.INT32, ReduceOp.SUM);
    private static final Operator INT_MAX = new Operator(DType.INT32, ReduceOp.MAX);
    private static final Operator FLOAT_SUM = new Operator(DType.FLOAT32, ReduceOp.SUM);
    private static final Operator FLOAT_PRODUCT = new Operator(DType.FLOAT32, ReduceOp.PRODUCT);
    private static final Operator TRUTH_MAX = new Operator(DType.BOOL, ReduceOp.MAX);

    /** What becomes of one element. */
    private interface Deviation {
        long of(long right, long one, long other, int index, int count);
    }

    private static final Deviation NONE = (right, one, other, index, count) -> right;

    private static List<Operator> refused(Operator wrong, Deviation deviation) {
        OperatorCheck check = new OperatorCheck(deviating(wrong, deviation));
        return Operators.agreed(check, List::of).refused();
    }

    private static Operators.Local deviating(Operator wrong, Deviation deviation) {
        return (operator, operand, result, count) -> {
            for (int i = 0; i < count; i++) {
                long one = get(operator.type(), operand, i);
                long other = get(operator.type(), result, i);
                long right = right(operator, one, other);
                put(
                        operator.type(),
                        result,
                        i,
                        operator.equals(wrong) ? deviation.of(right, one, other, i, count) : right);
            }
        };
    }

    private static long get(DType type, ByteBuffer elements, int index) {
        return switch (type) {
            case INT64, FLOAT64 -> elements.getLong(8 * index);
            case INT32, FLOAT32 -> elements.getInt(4 * index);
            default -> elements.get(index);
        };
    }

    private static void put(DType type, ByteBuffer elements, int index, long bits) {
        switch (type) {
            case INT64, FLOAT64 -> elements.putLong(8 * index, bits);
            case INT32, FLOAT32 -> elements.putInt(4 * index, (int) bits);
            default -> elements.put(index, (byte) bits);
        }
    }

    private static long right(Operator operator, long one, long other) {
        boolean sum = operator.op() == ReduceOp.SUM;
        if (operator.type() == DType.FLOAT32) {
            float x = Float.intBitsToFloat((int) one);
            float y = Float.intBitsToFloat((int) other);
            return Float.floatToRawIntBits(sum ? x + y : x * y);
        }
        if (operator.type() == DType.FLOAT64) {
            double x = Double.longBitsToDouble(one);
            double y = Double.longBitsToDouble(other);
            return Double.doubleToRawLongBits(sum ? x + y : x * y);
        }
        return switch (operator.op()) {
            case SUM -> one + other;
            case PRODUCT -> one * other;
            case MIN -> Math.min(one, other);
            default -> Math.max(one, other);
        };
    }

    @Test
    void anMpiThatComesToTheSameIsAskedForWhatItIsSurelyGoodFor() {
        OperatorCheck check = new OperatorCheck(deviating(LONG_SUM, NONE));
        Operators operators = Operators.agreed(check, List::of);

        assertThat(operators.refused()).isEmpty();
        for (ReduceOp op : List.of(ReduceOp.SUM, ReduceOp.PRODUCT)) {
            for (DType type : List.of(DType.FLOAT32, DType.FLOAT64, DType.INT32, DType.INT64, DType.BOOL)) {
                assertThat(operators.take(type, op.arithmeticOn(type))).isTrue();
            }
        }
        assertThat(operators.take(DType.INT32, ReduceOp.MIN)).isTrue();
        assertThat(operators.take(DType.FLOAT32, ReduceOp.MIN)).isFalse();
    }

    /** Whatever the operator makes of them on this machine, that of another may saturate. */
    @Test
    void noMpiIsAskedToReduceShortIntegersOrHalves() {
        Operators operators = Operators.agreed(operator -> true, List::of);
        for (DType type : List.of(DType.INT8, DType.UINT8, DType.INT16, DType.UINT16, DType.FLOAT16, DType.BFLOAT16)) {
            for (ReduceOp op : List.of(ReduceOp.SUM, ReduceOp.PRODUCT, ReduceOp.MIN, ReduceOp.MAX)) {
                assertThat(operators.take(type, op.arithmeticOn(type)))
                        .as("%s %s", type, op)
                        .isFalse();
            }
        }
    }

    /** As many as a vector holds saturate, and the rest wraps around. */
    @ParameterizedTest
    @ValueSource(ints = {2, 4, 8, 16, 32, 64})
    void aSumThatSaturatesInWholeVectorsIsFound(int width) {
        Deviation saturating = (right, one, other, index, count) -> index < count / width * width
                ? Math.max(Integer.MIN_VALUE, Math.min(Integer.MAX_VALUE, one + other))
                : right;
        assertThat(refused(INT_SUM, saturating)).containsExactly(INT_SUM);
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 4, 8, 16, 32, 64})
    void aDeviationBehindTheLastVectorIsFound(int width) {
        Deviation behind = (right, one, other, index, count) -> index < count / width * width ? right : right ^ 1;
        assertThat(refused(LONG_SUM, behind)).containsExactly(LONG_SUM);
    }

    @Test
    void otherOrdersOtherZerosAndLostSubnormalsAreFound() {
        Deviation unsigned =
                (right, one, other, index, count) -> Integer.compareUnsigned((int) one, (int) other) > 0 ? one : other;
        assertThat(refused(INT_MAX, unsigned)).containsExactly(INT_MAX);
        Deviation zero = (right, one, other, index, count) -> right == Integer.MIN_VALUE ? 0 : right;
        assertThat(refused(FLOAT_SUM, zero)).containsExactly(FLOAT_SUM);
        Deviation flushed = (right, one, other, index, count) -> (right & 0x7f800000) == 0 ? 0 : right;
        assertThat(refused(FLOAT_PRODUCT, flushed)).containsExactly(FLOAT_PRODUCT);
        Deviation least = (right, one, other, index, count) -> Math.min(one, other);
        assertThat(refused(TRUTH_MAX, least)).containsExactly(TRUTH_MAX);
    }

    @Test
    void everyNanIsAsGoodAsAnother() {
        Deviation other =
                (right, one, two, index, count) -> Float.isNaN(Float.intBitsToFloat((int) right)) ? -1 : right;
        assertThat(refused(FLOAT_SUM, other)).isEmpty();
    }

    /** Ranks have unlike processors, or unlike builds of Open MPI. */
    @Test
    void whatIsWrongOnOneRankIsLeftToMpiOnNone() throws Exception {
        List<Operator> wrong = List.of(INT_SUM, LONG_SUM, FLOAT_SUM);
        Exchange exchange = new Exchange(4);
        List<CompletableFuture<List<Operator>>> ranks = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            int rank = i;
            ranks.add(CompletableFuture.supplyAsync(
                    () -> Operators.agreed(
                                    operator -> rank == 3 || !operator.equals(wrong.get(rank)), exchange.of(rank))
                            .refused(),
                    task -> new Thread(task, "operators-rank").start()));
        }
        for (CompletableFuture<List<Operator>> rank : ranks) {
            assertThat(rank.get(30, TimeUnit.SECONDS)).containsExactlyInAnyOrderElementsOf(wrong);
        }
    }

    /** On a rank that nothing is right on, the bytes that it sends are none. */
    @Test
    void nothingIsLeftToAnMpiThatIsAlwaysWrong() {
        Operators operators = Operators.agreed(operator -> false, List::of);
        assertThat(operators.refused()).isEqualTo(Operators.CANDIDATES);
        assertThat(DType.values()).noneMatch(type -> operators.take(type, ReduceOp.SUM.arithmeticOn(type)));
    }
}
