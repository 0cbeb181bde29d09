package io.hvd.kernel;

import static io.hvd.tensor.Samples.SIZES;
import static io.hvd.tensor.Samples.array;
import static io.hvd.tensor.Samples.as;
import static io.hvd.tensor.Samples.direct;
import static io.hvd.tensor.Samples.get;
import static io.hvd.tensor.Samples.read;
import static io.hvd.tensor.Samples.stage;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.tensor.Bulk;
import io.hvd.tensor.DType;
import io.hvd.tensor.ReduceOp;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

class ReducerTest {
    private static final ReduceOp[] KERNELS = {ReduceOp.SUM, ReduceOp.MIN, ReduceOp.MAX, ReduceOp.PRODUCT};

    private final Reducer reducer = new Reducer();

    static Stream<Arguments> everyTypeAndOperation() {
        return Stream.of(DType.values()).flatMap(type -> Stream.of(KERNELS).map(op -> Arguments.of(type, op)));
    }

    /** Small whole numbers, different by rank, so that results are exact in every type. */
    private static double sample(DType type, int rank, int i) {
        int value = (i * (rank + 2) + rank) % 5;
        return switch (type) {
            case BOOL -> value / 3;
            case UINT8, UINT16 -> value;
            default -> value - 2;
        };
    }

    private static double expected(ReduceOp op, DType type, int ranks, int i) {
        double result = sample(type, 0, i);
        for (int rank = 1; rank < ranks; rank++) {
            double next = sample(type, rank, i);
            result = switch (op.arithmeticOn(type)) {
                case SUM -> result + next;
                case MIN -> Math.min(result, next);
                case MAX -> Math.max(result, next);
                default -> result * next;
            };
        }
        return result;
    }

    private static List<ByteBuffer> stages(DType type, int ranks, int size) {
        List<ByteBuffer> stages = new ArrayList<>();
        for (int r = 0; r < ranks; r++) {
            int rank = r;
            stages.add(stage(type, array(type, size, i -> sample(type, rank, i)), 0));
        }
        return stages;
    }

    @ParameterizedTest
    @MethodSource("everyTypeAndOperation")
    void combinesWhatEveryRankBrings(DType type, ReduceOp op) {
        for (int ranks = 1; ranks <= 4; ranks++) {
            for (int size : SIZES) {
                ByteBuffer target = direct((size + 1) * type.bytes());
                reducer.reduce(op, type, stages(type, ranks, size), 0, size, target);
                Object result = read(target, type, 0, size);
                for (int i = 0; i < size; i++) {
                    double wanted = expected(op, type, ranks, i) + 0.0;
                    if (get(type, result, i) + 0.0 != wanted) {
                        assertThat(get(type, result, i))
                                .as("%d ranks, %d elements, element %d", ranks, size, i)
                                .isEqualTo(wanted);
                    }
                }
                assertThat(target.get(size * type.bytes()))
                        .as("behind the last element")
                        .isZero();
            }
        }
    }

    @ParameterizedTest
    @EnumSource(DType.class)
    void touchesOnlyTheRangeThatItWasGiven(DType type) {
        int size = 40_000;
        ByteBuffer target = stage(type, array(type, size, i -> 99), 0);
        reducer.reduce(ReduceOp.SUM, type, stages(type, 3, size), 17, 39_900, target);
        Object result = read(target, type, 0, size);
        for (int i = 0; i < size; i++) {
            double wanted = i < 17 || i >= 39_917 ? as(type, 99) : expected(ReduceOp.SUM, type, 3, i);
            assertThat(get(type, result, i)).as("element %d", i).isEqualTo(wanted);
        }
    }

    /** In the order of the sources, wherever its own lies among them. */
    @ParameterizedTest
    @EnumSource(DType.class)
    void oneOfTheSourcesMayLieElsewhereAndGetsWhatComesOut(DType type) {
        int size = 40_000;
        for (int place = 0; place < 3; place++) {
            List<ByteBuffer> stages = new ArrayList<>(stages(type, 3, size));
            Elsewhere own = new Elsewhere(
                    place, Scale.ONE, type, stages.get(place), stage(type, array(type, size, i -> 99), 0));
            stages.set(place, stage(type, array(type, size, i -> 99), 0));
            ByteBuffer target = stage(type, array(type, size, i -> 99), 0);

            reducer.reduce(ReduceOp.SUM, type, stages, 17, 39_900, target, own);

            Object result = read(target, type, 0, size);
            for (int i = 0; i < size; i++) {
                double wanted = i < 17 || i >= 39_917 ? as(type, 99) : expected(ReduceOp.SUM, type, 3, i);
                assertThat(get(type, result, i)).isEqualTo(wanted);
            }
            assertThat(read(own.to(), type, 0, size)).isEqualTo(result);
        }
    }

    @ParameterizedTest
    @EnumSource(
            value = DType.class,
            names = {"FLOAT32", "FLOAT64", "INT32", "INT64", "INT16"})
    void whatComesOutIsScaledOnceForAll(DType type) {
        List<ByteBuffer> stages = stages(type, 3, 40_000);
        Elsewhere own =
                new Elsewhere(1, Scale.by(0.5), type, stages.get(1), stage(type, array(type, 40_000, i -> 99), 0));
        ByteBuffer target = stage(type, array(type, 40_000, i -> 99), 0);

        reducer.reduce(ReduceOp.SUM, type, stages, 17, 39_900, target, own);

        Object result = read(target, type, 0, 40_000);
        for (int i = 17; i < 39_917; i++) {
            double half = expected(ReduceOp.SUM, type, 3, i) / 2;
            assertThat(get(type, result, i)).isEqualTo(type.isFloating() ? half : (long) half);
        }
        assertThat(read(own.to(), type, 0, 40_000)).isEqualTo(result);
    }

    @Test
    void theResultMayGoNowhereButToItsOwner() {
        for (DType type : List.of(DType.FLOAT32, DType.FLOAT16)) {
            List<ByteBuffer> stages = stages(type, 2, 3000);
            Elsewhere own =
                    new Elsewhere(0, Scale.ONE, type, stages.get(0), stage(type, array(type, 3000, i -> 99), 0));

            reducer.reduce(ReduceOp.SUM, type, stages, 0, 3000, null, own);

            for (int i = 0; i < 3000; i++) {
                assertThat(get(type, read(own.to(), type, 0, 3000), i)).isEqualTo(expected(ReduceOp.SUM, type, 2, i));
            }
        }
    }

    /** @param to null if the result does not go there; the same as {@code from} if it lies there in place */
    private record Elsewhere(int place, Scale scale, DType type, ByteBuffer from, ByteBuffer to)
            implements Reducer.Own {
        @Override
        public void read(int first, int count, Object block) {
            Bulk.get(Bulk.view(from, type), type, first, block, 0, count);
        }

        @Override
        public void write(int first, int count, Object block) {
            Bulk.put(Bulk.view(to, type), type, first, block, 0, count);
        }

        @Override
        public ByteBuffer direct(int first, int count) {
            return from == to || to == null
                    ? from.slice(first * type.bytes(), count * type.bytes()).order(from.order())
                    : null;
        }

        @Override
        public boolean receives() {
            return to != null;
        }
    }

    /** How a source elsewhere gets the result. */
    private enum Way {
        APART,
        IN_PLACE,
        NOT_AT_ALL
    }

    /** Sums that are rounded, so that another order would show; more than the kernel is asked for, and a rest. */
    @ParameterizedTest
    @EnumSource(
            value = DType.class,
            names = {"FLOAT32", "FLOAT64", "INT32"})
    void aKernelGivesTheSameBits(DType type) {
        CountingKernel kernel = new CountingKernel();
        for (Scale scale : List.of(Scale.ONE, Scale.by(1.0 / 3), new Scale(0.5, 3))) {
            for (int ranks = 2; ranks < 4; ranks++) {
                for (int place = -1; place < ranks; place++) {
                    for (Way way : Way.values()) {
                        assertSame(kernel, type, ranks, place, scale, way);
                    }
                }
            }
        }
        assertThat(kernel.added).isEqualTo(type == DType.INT32 ? 0 : 3 * (7 * 1 + 9 * 2) * 9000);
    }

    private static void assertSame(ReduceKernel kernel, DType type, int ranks, int place, Scale scale, Way way) {
        List<ByteBuffer> plain = reduced(new Reducer(), type, ranks, place, scale, way);
        assertThat(reduced(Reducer.ofPlaces(kernel), type, ranks, place, scale, way))
                .as("rank %d of %d, scale %s, %s", place, ranks, scale, way)
                .isEqualTo(plain);
    }

    /** @return what came out in the target and elsewhere */
    private static List<ByteBuffer> reduced(Reducer reducer, DType type, int ranks, int place, Scale scale, Way way) {
        List<ByteBuffer> stages = new ArrayList<>();
        for (int rank = 0; rank < ranks; rank++) {
            double third = 1.0 / (rank + 3);
            stages.add(stage(type, array(type, 9100, i -> type == DType.INT32 ? i : Math.sin(i) * third), 0));
        }
        ByteBuffer target = direct(9100 * type.bytes());
        ByteBuffer elsewhere = way != Way.APART && place >= 0 ? stages.get(place) : direct(9100 * type.bytes());
        if (place < 0) {
            reducer.reduce(ReduceOp.SUM, type, stages, 50, 9000, target);
        } else {
            ByteBuffer to = way == Way.NOT_AT_ALL ? null : elsewhere;
            Elsewhere own = new Elsewhere(place, scale, type, stages.get(place), to);
            stages.set(place, direct(9100 * type.bytes()));
            reducer.reduce(ReduceOp.SUM, type, stages, 50, 9000, target, own);
        }
        return List.of(target, elsewhere);
    }

    @Test
    void aKernelIsNotAskedWhereTheTargetIsALaterSource() {
        CountingKernel kernel = new CountingKernel();
        for (int which = 0; which < 3; which++) {
            List<ByteBuffer> stages = stages(DType.FLOAT32, 3, 5000);
            Reducer.ofPlaces(kernel).reduce(ReduceOp.SUM, DType.FLOAT32, stages, 0, 5000, stages.get(which));
            for (int i = 0; i < 5000; i++) {
                assertThat(stages.get(which).getFloat(4 * i))
                        .isEqualTo((float) expected(ReduceOp.SUM, DType.FLOAT32, 3, i));
            }
        }
        assertThat(kernel.added).isEqualTo(2 * 5000);
    }

    /** Java's arithmetic, one element after the other. */
    private static final class CountingKernel implements ReduceKernel {
        private int added;

        @Override
        public boolean takes(DType type) {
            return type == DType.FLOAT32 || type == DType.FLOAT64;
        }

        @Override
        public void add(DType type, ByteBuffer operand, ByteBuffer sum, int count) {
            added += count;
            for (int i = 0; i < count; i++) {
                if (type == DType.FLOAT32) {
                    sum.putFloat(4 * i, sum.getFloat(4 * i) + operand.getFloat(4 * i));
                } else {
                    sum.putDouble(8 * i, sum.getDouble(8 * i) + operand.getDouble(8 * i));
                }
            }
        }

        @Override
        public void multiply(DType type, double factor, ByteBuffer product, int count) {
            for (int i = 0; i < count; i++) {
                if (type == DType.FLOAT32) {
                    product.putFloat(4 * i, product.getFloat(4 * i) * (float) factor);
                } else {
                    product.putDouble(8 * i, product.getDouble(8 * i) * factor);
                }
            }
        }
    }

    @ParameterizedTest
    @EnumSource(DType.class)
    void theTargetMayBeOneOfTheSources(DType type) {
        for (int which = 0; which < 3; which++) {
            List<ByteBuffer> stages = stages(type, 3, 2049);
            reducer.reduce(ReduceOp.SUM, type, stages, 0, 2049, stages.get(which));
            Object result = read(stages.get(which), type, 0, 2049);
            for (int i = 0; i < 2049; i++) {
                assertThat(get(type, result, i)).isEqualTo(expected(ReduceOp.SUM, type, 3, i));
            }
        }
    }

    @Test
    void unsignedBytesAreComparedWithoutASignAndSignedOnesWithIt() {
        assertThat(bytes(ReduceOp.MIN, DType.UINT8, 200, 100)).isEqualTo((byte) 100);
        assertThat(bytes(ReduceOp.MAX, DType.UINT8, 200, 100)).isEqualTo((byte) 200);
        assertThat(bytes(ReduceOp.MIN, DType.INT8, 200, 100)).isEqualTo((byte) 200);
        assertThat(bytes(ReduceOp.MAX, DType.INT8, 200, 100)).isEqualTo((byte) 100);
    }

    @Test
    void bytesWrapAroundAsTheyDoInMpi() {
        assertThat(bytes(ReduceOp.SUM, DType.UINT8, 200, 100)).isEqualTo((byte) 44);
        assertThat(bytes(ReduceOp.SUM, DType.INT8, 100, 100)).isEqualTo((byte) 200);
        assertThat(bytes(ReduceOp.PRODUCT, DType.UINT8, 20, 20)).isEqualTo((byte) 144);
    }

    @Test
    void shortsAreComparedByTheirTypesSignAndWrapAround() {
        assertThat(shorts(ReduceOp.MIN, DType.UINT16, 40_000, 100)).isEqualTo((short) 100);
        assertThat(shorts(ReduceOp.MAX, DType.UINT16, 40_000, 100)).isEqualTo((short) 40_000);
        assertThat(shorts(ReduceOp.MIN, DType.INT16, 40_000, 100)).isEqualTo((short) 40_000);
        assertThat(shorts(ReduceOp.MAX, DType.INT16, 40_000, 100)).isEqualTo((short) 100);
        assertThat(shorts(ReduceOp.SUM, DType.UINT16, 40_000, 40_000)).isEqualTo((short) 14_464);
        assertThat(shorts(ReduceOp.PRODUCT, DType.INT16, 300, 300)).isEqualTo((short) 24_464);
    }

    private short shorts(ReduceOp op, DType type, int first, int second) {
        ByteBuffer target = direct(2);
        List<ByteBuffer> sources =
                List.of(stage(type, new short[] {(short) first}, 0), stage(type, new short[] {(short) second}, 0));
        reducer.reduce(op, type, sources, 0, 1, target);
        return target.getShort(0);
    }

    /** Spelled out for two ranks, because everything else here leans on {@link ReduceOp#arithmeticOn}. */
    @Test
    void sumAndMaximumOfTruthAreOrProductAndMinimumAreAnd() {
        for (int a = 0; a <= 1; a++) {
            for (int b = 0; b <= 1; b++) {
                assertThat(bytes(ReduceOp.SUM, DType.BOOL, a, b)).isEqualTo((byte) (a | b));
                assertThat(bytes(ReduceOp.MAX, DType.BOOL, a, b)).isEqualTo((byte) (a | b));
                assertThat(bytes(ReduceOp.PRODUCT, DType.BOOL, a, b)).isEqualTo((byte) (a & b));
                assertThat(bytes(ReduceOp.MIN, DType.BOOL, a, b)).isEqualTo((byte) (a & b));
            }
        }
    }

    private byte bytes(ReduceOp op, DType type, int first, int second) {
        ByteBuffer target = direct(1);
        List<ByteBuffer> sources =
                List.of(stage(type, new byte[] {(byte) first}, 0), stage(type, new byte[] {(byte) second}, 0));
        reducer.reduce(op, type, sources, 0, 1, target);
        return target.get(0);
    }

    @Test
    void halvesAreAddedUpInFloat32AndRoundedOnce() {
        // In float16 every 2048 + 1 would fall back to 2048; in float32 the four ones count.
        assertThat(halves(DType.FLOAT16, 2048, 1, 1, 1, 1)).isEqualTo(2052);
        assertThat(halves(DType.BFLOAT16, 256, 1, 1, 1, 1)).isEqualTo(260);
        // The sum in between is larger than any float16, the result is not.
        assertThat(halves(DType.FLOAT16, 60_000, 60_000, -60_000)).isEqualTo(60_000);
    }

    @Test
    void aSumBeyondTheLargestFloat16IsInfinite() {
        assertThat(halves(DType.FLOAT16, 30_000, 30_000, 30_000, 30_000)).isEqualTo(Double.POSITIVE_INFINITY);
        assertThat(halves(DType.BFLOAT16, 30_000, 30_000, 30_000, 30_000)).isBetween(119_000.0, 121_000.0);
    }

    private double halves(DType type, double... values) {
        List<ByteBuffer> sources = new ArrayList<>();
        for (double value : values) {
            sources.add(stage(type, array(type, 1, i -> value), 0));
        }
        ByteBuffer target = direct(2);
        reducer.reduce(ReduceOp.SUM, type, sources, 0, 1, target);
        return get(type, read(target, type, 0, 1), 0);
    }

    @Test
    void floatsAreAddedInTheOrderOfTheRanks() {
        // (1e8 + -1e8) + 1 is 1, every other order loses the 1.
        List<ByteBuffer> sources = Stream.of(1e8f, -1e8f, 1f)
                .map(value -> stage(DType.FLOAT32, new float[] {value}, 0))
                .toList();
        ByteBuffer target = direct(4);
        reducer.reduce(ReduceOp.SUM, DType.FLOAT32, sources, 0, 1, target);
        assertThat(target.getFloat(0)).isEqualTo(1f);
        List<ByteBuffer> turned = List.of(sources.get(2), sources.get(0), sources.get(1));
        reducer.reduce(ReduceOp.SUM, DType.FLOAT32, turned, 0, 1, target);
        assertThat(target.getFloat(0)).isZero();
    }

    @ParameterizedTest
    @EnumSource(names = {"FLOAT32", "FLOAT64", "FLOAT16", "BFLOAT16"})
    void aNanOnAnyRankShowsInTheResult(DType type) {
        for (ReduceOp op : KERNELS) {
            for (int where = 0; where < 3; where++) {
                List<ByteBuffer> sources = new ArrayList<>();
                for (int rank = 0; rank < 3; rank++) {
                    double value = rank == where ? Double.NaN : rank + 1;
                    sources.add(stage(type, array(type, 1, i -> value), 0));
                }
                ByteBuffer target = direct(8);
                reducer.reduce(op, type, sources, 0, 1, target);
                assertThat(get(type, read(target, type, 0, 1), 0))
                        .as("%s, rank %d", op, where)
                        .isNaN();
            }
        }
    }

    @Test
    void longsKeepAllTheirBits() {
        ByteBuffer target = direct(8);
        List<ByteBuffer> sources =
                List.of(stage(DType.INT64, new long[] {(1L << 62) + 1}, 0), stage(DType.INT64, new long[] {2}, 0));
        reducer.reduce(ReduceOp.SUM, DType.INT64, sources, 0, 1, target);
        assertThat(target.getLong(0)).isEqualTo((1L << 62) + 3);
        reducer.reduce(ReduceOp.MAX, DType.INT64, sources, 0, 1, target);
        assertThat(target.getLong(0)).isEqualTo((1L << 62) + 1);
    }

    @ParameterizedTest
    @EnumSource(DType.class)
    void anAverageHasNoKernelBecauseItTravelsAsASum(DType type) {
        for (ReduceOp op : new ReduceOp[] {ReduceOp.AVERAGE, ReduceOp.ADASUM}) {
            assertThatThrownBy(() -> reducer.reduce(op, type, stages(type, 2, 1), 0, 1, direct(8)))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining(op.name());
        }
        assertThat(ReduceOp.AVERAGE.onTheWire()).isEqualTo(ReduceOp.SUM);
        assertThat(ReduceOp.MIN.onTheWire()).isEqualTo(ReduceOp.MIN);
    }

    @Test
    void operationsAreNumberedAsInHorovod() {
        assertThat(ReduceOp.values())
                .containsExactly(
                        ReduceOp.AVERAGE, ReduceOp.SUM, ReduceOp.ADASUM, ReduceOp.MIN, ReduceOp.MAX, ReduceOp.PRODUCT);
    }
}
