package io.hvd.kernel;

import static io.hvd.tensor.Samples.SIZES;
import static io.hvd.tensor.Samples.array;
import static io.hvd.tensor.Samples.as;
import static io.hvd.tensor.Samples.direct;
import static io.hvd.tensor.Samples.get;
import static io.hvd.tensor.Samples.read;
import static io.hvd.tensor.Samples.stage;
import static io.hvd.tensor.Samples.tensor;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.tensor.DType;
import io.hvd.tensor.HalfFloat;
import io.hvd.tensor.Samples.Place;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.lang.reflect.Array;
import java.nio.ByteBuffer;
import java.util.Random;
import java.util.function.LongUnaryOperator;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

class ConverterTest {
    private static final int AT = 24;

    private final Converter converter = new Converter();

    static Stream<Arguments> everyTypeInEveryPlace() {
        return Stream.of(DType.values())
                .flatMap(type -> Stream.of(Place.values()).map(place -> Arguments.of(type, place)));
    }

    /** Tensor type, wire type and place, for all pairs of floating types. */
    static Stream<Arguments> everyFloatingPairInEveryPlace() {
        return Stream.of(DType.values())
                .filter(DType::isFloating)
                .flatMap(type -> Stream.of(DType.values())
                        .filter(DType::isFloating)
                        .flatMap(wire -> Stream.of(Place.values()).map(place -> Arguments.of(type, wire, place))));
    }

    private static double sample(int i) {
        return (i % 101) - 50;
    }

    @ParameterizedTest
    @MethodSource("everyTypeInEveryPlace")
    void packsEveryTypeBitByBitWhenNothingIsToBeDone(DType type, Place place) {
        for (int size : SIZES) {
            Object values = array(type, size, ConverterTest::sample);
            ByteBuffer to = direct(AT + (size + 1) * type.bytes());
            converter.pack(tensor(place, type, values), 0, size, to, AT, type, 1.0);
            assertThat(read(to, type, AT, size)).isEqualTo(values);
            assertThat(to.get(AT - 1)).isZero();
            assertThat(to.get(AT + size * type.bytes())).isZero();
        }
    }

    @ParameterizedTest
    @MethodSource("everyTypeInEveryPlace")
    void unpacksEveryTypeBitByBitWhenNothingIsToBeDone(DType type, Place place) {
        for (int size : SIZES) {
            Object values = array(type, size, ConverterTest::sample);
            Tensor to = tensor(place, type, array(type, size, i -> 9));
            converter.unpack(stage(type, values, AT), AT, type, to, 0, size, Scale.ONE);
            assertThat(to.toArray()).isEqualTo(values);
        }
    }

    @ParameterizedTest
    @MethodSource("everyTypeInEveryPlace")
    void packsAPartOfATensor(DType type, Place place) {
        Object values = array(type, 6000, ConverterTest::sample);
        for (double scale : type == DType.BOOL ? new double[] {1.0} : new double[] {1.0, 2.0}) {
            ByteBuffer to = direct(5000 * type.bytes());
            converter.pack(tensor(place, type, values), 999, 4999, to, 0, type, scale);
            Object packed = read(to, type, 0, 5000);
            for (int i = 0; i < 4999; i++) {
                double expected = as(type, get(type, values, 999 + i) * scale);
                assertThat(get(type, packed, i))
                        .as("element %d, scale %s", i, scale)
                        .isEqualTo(expected);
            }
            assertThat(get(type, packed, 4999)).isZero();
        }
    }

    @ParameterizedTest
    @MethodSource("everyTypeInEveryPlace")
    void unpacksIntoAPartOfATensorAndLeavesTheRest(DType type, Place place) {
        Object values = array(type, 4999, i -> i % 7 + 1);
        for (double scale : type == DType.BOOL ? new double[] {1.0} : new double[] {1.0, 3.0}) {
            Tensor to = tensor(place, type, array(type, 6000, i -> 99));
            converter.unpack(stage(type, values, AT), AT, type, to, 999, 4999, Scale.by(scale));
            Object all = to.toArray();
            for (int i = 0; i < 6000; i++) {
                double expected = i < 999 || i >= 5998 ? 99 : ((i - 999) % 7 + 1) * scale;
                assertThat(get(type, all, i))
                        .as("element %d, scale %s", i, scale)
                        .isEqualTo(as(type, expected));
            }
        }
    }

    @ParameterizedTest
    @MethodSource("everyFloatingPairInEveryPlace")
    void packsScaledAndConvertedInOnePass(DType type, DType wire, Place place) {
        for (int size : SIZES) {
            Object values = array(type, size, ConverterTest::sample);
            ByteBuffer to = direct(AT + (size + 1) * wire.bytes());
            converter.pack(tensor(place, type, values), 0, size, to, AT, wire, 0.25);
            // Quarters of whole numbers up to 50 are exact in all four types.
            assertThat(read(to, wire, AT, size)).isEqualTo(array(wire, size, i -> sample(i) / 4));
            assertThat(to.get(AT - 1)).isZero();
            assertThat(to.get(AT + size * wire.bytes())).isZero();
        }
    }

    @ParameterizedTest
    @MethodSource("everyFloatingPairInEveryPlace")
    void unpacksConvertedAndScaledInOnePass(DType type, DType wire, Place place) {
        for (int size : SIZES) {
            Tensor to = tensor(place, type, array(type, size, i -> 9));
            ByteBuffer from = stage(wire, array(wire, size, ConverterTest::sample), AT);
            converter.unpack(from, AT, wire, to, 0, size, Scale.by(0.5));
            assertThat(to.toArray()).isEqualTo(array(type, size, i -> sample(i) / 2));
        }
    }

    @Test
    void scalesBeforeItRoundsToTheWireType() {
        // 30000 * 4 does not fit a float16, but a quarter of 120000 does.
        ByteBuffer to = direct(4);
        converter.pack(Tensor.of(120_000f, 1e-7f), 0, 2, to, 0, DType.FLOAT16, 0.25);
        assertThat(HalfFloat.fromFloat16(to.getShort(0))).isEqualTo(30_000f);
        assertThat(HalfFloat.fromFloat16(to.getShort(2))).isZero();
    }

    @Test
    void doublesKeepTheirPrecisionWhenTheyAreScaledAsDoubles() {
        ByteBuffer to = direct(8);
        converter.pack(Tensor.of(1.0 / 3), 0, 1, to, 0, DType.FLOAT64, 1.0 / 3);
        assertThat(to.getDouble(0)).isEqualTo(1.0 / 3 * (1.0 / 3));
    }

    @Test
    void integersAreScaledInFloatingPointAndTruncatedTowardsZero() {
        assertThat(scaled(DType.INT32, new int[] {6, -6, 7, Integer.MAX_VALUE}, 0.25))
                .isEqualTo(new int[] {1, -1, 1, 536_870_911});
        assertThat(scaled(DType.INT64, new long[] {6, -6, 1L << 40}, 0.25)).isEqualTo(new long[] {1, -1, 1L << 38});
        assertThat(scaled(DType.INT8, new byte[] {6, -6, 127, -128}, 0.25)).isEqualTo(new byte[] {1, -1, 31, -32});
        assertThat(scaled(DType.UINT8, new byte[] {6, (byte) 200, (byte) 255}, 0.75))
                .isEqualTo(new byte[] {4, (byte) 150, (byte) 191});
        assertThat(scaled(DType.INT16, new short[] {6, -6, Short.MAX_VALUE}, 0.25))
                .isEqualTo(new short[] {1, -1, 8191});
        assertThat(scaled(DType.UINT16, new short[] {6, (short) 65_535}, 0.75))
                .isEqualTo(new short[] {4, (short) 49_151});
    }

    /** The quotients of doubles have been compared with those of integers for the divisors at which 1/n is too small. */
    @ParameterizedTest
    @EnumSource(
            value = DType.class,
            names = {"INT8", "UINT8", "INT16", "UINT16", "INT32", "INT64"})
    void integersAreDividedExactlyAndTheQuotientIsCutOff(DType type) {
        long least = type == DType.INT64 ? Long.MIN_VALUE : isSigned(type) ? -1L << 8 * type.bytes() - 1 : 0;
        long greatest = type == DType.INT64 ? Long.MAX_VALUE : least + (1L << 8 * type.bytes()) - 1;
        Random random = new Random(5);
        for (int divisor : new int[] {2, 3, 7, 49, 98, 103, 107, 161, 187, 1000, 65_537, Integer.MAX_VALUE}) {
            long[] values = new long[4000];
            for (int i = 0; i < values.length; i++) {
                long quotient = random.nextLong() / divisor >> random.nextInt(8 * Long.BYTES);
                values[i] = i < 2 ? i == 0 ? least : greatest : quotient * divisor + random.nextInt(3) - 1;
            }
            assertDivided(type, values, new Scale(1, divisor), value -> value / divisor);
        }
    }

    /** As in a loop over the elements of a plain program; what a factor makes of an integer is an integer again. */
    @ParameterizedTest
    @EnumSource(
            value = DType.class,
            names = {"INT8", "UINT8", "INT16", "UINT16", "INT32", "INT64"})
    void integersAreMultipliedAndCutOffBeforeTheyAreDivided(DType type) {
        long[] values = LongStream.range(-120, 120)
                .map(value -> isSigned(type) ? value : value + 120)
                .toArray();
        for (double factor : new double[] {0.5, 0.3, 1.0 / 3, 2, 49, -1}) {
            for (int divisor : new int[] {1, 2, 49}) {
                assertDivided(type, values, new Scale(factor, divisor), value -> (long) (value * factor) / divisor);
            }
        }
    }

    private void assertDivided(DType type, long[] values, Scale scale, LongUnaryOperator expected) {
        Object source = Array.newInstance(type.arrayType().getComponentType(), values.length);
        Object wanted = Array.newInstance(type.arrayType().getComponentType(), values.length);
        for (int i = 0; i < values.length; i++) {
            setInteger(type, source, i, values[i]);
            setInteger(type, wanted, i, expected.applyAsLong(integer(type, source, i)));
        }
        Tensor to = Tensor.zeros(type, Shape.of(values.length));
        converter.unpack(stage(type, source, 0), 0, type, to, 0, values.length, scale);
        assertThat(to.toArray()).as("%s %s", type, scale).isEqualTo(wanted);
        to.copyFrom(Tensor.wrap(source, type, to.shape()));
        converter.store(source, 0, type, to, 0, values.length, scale);
        assertThat(to.toArray()).as("%s %s", type, scale).isEqualTo(wanted);
    }

    private static boolean isSigned(DType type) {
        return type != DType.UINT8 && type != DType.UINT16;
    }

    private static void setInteger(DType type, Object array, int index, long value) {
        switch (type.bytes()) {
            case 1 -> Array.setByte(array, index, (byte) value);
            case 2 -> Array.setShort(array, index, (short) value);
            case 4 -> Array.setInt(array, index, (int) value);
            default -> Array.setLong(array, index, value);
        }
    }

    private static long integer(DType type, Object array, int index) {
        long value = Array.getLong(array, index);
        return isSigned(type) ? value : value & (1L << 8 * type.bytes()) - 1;
    }

    /** Multiplied first, 2^62 times 4 has no place in a long. */
    @Test
    void aProductBeyondALongIsDividedAllTheSame() {
        assertThat(new Scale(4, 8).scaled(1L << 62)).isEqualTo(1L << 61);
        assertThat(new Scale(4, 8).scaled(-1L << 62)).isEqualTo(-1L << 61);
        assertThat(new Scale(4, 2).scaled(1L << 62)).isEqualTo(Long.MAX_VALUE);
    }

    /** Signalling NaNs too, as they do without any scale. */
    @Test
    void aFactorThatIsTheDivisorLeavesEveryBit() {
        assertThat(new Scale(3, 3).isOne()).isTrue();
        assertThat(new Scale(1, 3).isOne()).isFalse();
        Tensor to = Tensor.of(0f);
        ByteBuffer nan = direct(4).putInt(0, 0x7f800001);
        converter.unpack(nan, 0, DType.FLOAT32, to, 0, 1, new Scale(3, 3));
        assertThat(Float.floatToRawIntBits(((float[]) to.toArray())[0])).isEqualTo(0x7f800001);
    }

    @Test
    void floatsAreMultipliedByTheFactorOverTheDivisor() {
        Tensor floats = Tensor.of(0f);
        converter.unpack(
                stage(DType.FLOAT32, new float[] {0.1f}, 0), 0, DType.FLOAT32, floats, 0, 1, new Scale(0.7, 3));
        assertThat(floats.item()).isEqualTo(0.1f * (float) (0.7 / 3));
        Tensor doubles = Tensor.of(0.0);
        converter.unpack(
                stage(DType.FLOAT64, new double[] {0.1}, 0), 0, DType.FLOAT64, doubles, 0, 1, new Scale(0.7, 3));
        assertThat(((double[]) doubles.toArray())[0]).isEqualTo(0.1 * (0.7 / 3));
    }

    /** A tensor that is shorter than others has nothing to do in the rounds in which they still have something. */
    @ParameterizedTest
    @EnumSource(Place.class)
    void noElementsMayBeginBehindTheEnd(Place place) {
        Tensor tensor = tensor(place, DType.INT16, array(DType.INT16, 5, i -> i));
        for (double scale : new double[] {1, 2}) {
            converter.pack(tensor, 9, 0, direct(2), 100, DType.INT16, scale);
            converter.unpack(direct(2), 100, DType.INT16, tensor, 9, 0, Scale.by(scale));
            converter.load(tensor, 9, 0, new short[1], 7, DType.INT16, scale);
            converter.store(new short[1], 7, DType.INT16, tensor, 9, 0, Scale.by(scale));
        }
        assertThat(tensor.toArray()).isEqualTo(array(DType.INT16, 5, i -> i));
    }

    @Test
    void truthIsNotScaled() {
        assertThatThrownBy(() -> scaled(DType.BOOL, new byte[] {1}, 0.5))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("bool");
    }

    @Test
    void aDoubleIsRoundedToAHalfInOneStep() {
        // Just above the middle between 1 and the next value: a float in between would lose the trace.
        ByteBuffer to = direct(4);
        converter.pack(Tensor.of(1 + 0x1p-11 + 0x1p-40, 0.5 + 0x1p-12), 0, 2, to, 0, DType.FLOAT16, 1.0);
        assertThat(read(to, DType.FLOAT16, 0, 2)).isEqualTo(array(DType.FLOAT16, 2, i -> i == 0 ? 1 + 0x1p-10 : 0.5));
        converter.pack(Tensor.of(2 + 0x1p-7 + 0x1p-40), 0, 1, to, 0, DType.BFLOAT16, 0.5);
        assertThat(HalfFloat.fromBfloat16(to.getShort(0))).isEqualTo(1 + 0x1p-7f);
    }

    @Test
    void halvesAndFloatsBecomeDoublesBeforeTheyAreScaled() {
        Tensor to = Tensor.of(0.0);
        for (DType wire : new DType[] {DType.FLOAT16, DType.BFLOAT16, DType.FLOAT32}) {
            converter.unpack(stage(wire, array(wire, 1, i -> 5), 0), 0, wire, to, 0, 1, Scale.by(1.0 / 3));
            assertThat(((double[]) to.toArray())[0]).as("from %s", wire).isEqualTo(5 * (1.0 / 3));
        }
    }

    private Object scaled(DType type, Object values, double scale) {
        int count = Array.getLength(values);
        Tensor tensor = Tensor.wrap(values, type, Shape.of(count));
        ByteBuffer to = direct(count * type.bytes());
        converter.pack(tensor, 0, count, to, 0, type, scale);
        return read(to, type, 0, count);
    }

    @Test
    void refusesToTurnIntegersIntoAnotherTypeAndNamesBoth() {
        assertThatThrownBy(() -> converter.pack(Tensor.of(1, 2), 0, 2, direct(16), 0, DType.FLOAT16, 1.0))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("int32");
        assertThatThrownBy(() -> converter.unpack(direct(16), 0, DType.FLOAT32, Tensor.of(1, 2), 0, 2, Scale.ONE))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContainingAll("float32", "int32");
    }

    @ParameterizedTest
    @EnumSource(Place.class)
    void copiesRunsBetweenTensorsOfAnyPlace(Place place) {
        for (DType type : DType.values()) {
            Tensor from = tensor(Place.HEAP, type, array(type, 5001, ConverterTest::sample));
            Tensor to = tensor(place, type, array(type, 5010, i -> 55));
            converter.copy(from, 1, to, 7, 5000);
            Object all = to.toArray();
            for (int i = 0; i < 5010; i++) {
                double expected = i < 7 || i >= 5007 ? as(type, 55) : get(type, from.toArray(), i - 6);
                if (get(type, all, i) != expected) {
                    assertThat(get(type, all, i)).as("%s, element %d", type, i).isEqualTo(expected);
                }
            }
        }
    }

    @Test
    void copyingNothingChangesNothing() {
        Tensor to = Tensor.of(1f, 2f);
        converter.copy(Tensor.of(new float[0]), 0, to, 2, 0);
        assertThat(to.toFloatArray()).containsExactly(1, 2);
    }
}
