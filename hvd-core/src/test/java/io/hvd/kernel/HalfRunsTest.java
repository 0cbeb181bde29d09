package io.hvd.kernel;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.tensor.DType;
import io.hvd.tensor.HalfFloat;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Whole arrays get the bits of the single conversions, by whichever code this JDK takes, before the JIT has seen it and
 * after.
 */
class HalfRunsTest {
    private static final int BLOCK = 2048;
    /** The runs of a block after which its loops are compiled. */
    private static final int WARM_RUNS = 20_000;

    /** What is compiled stays so for the other tests of this JVM. */
    private static boolean warm;

    private static void warmUp() {
        if (warm) {
            return;
        }
        warm = true;
        float[] floats = new float[BLOCK];
        short[] halves = new short[BLOCK];
        for (int run = 0; run < WARM_RUNS; run++) {
            floats[run % BLOCK] = run / 7f;
            HalfRuns.toHalf(DType.FLOAT16, floats, halves, BLOCK);
            HalfRuns.fromHalf(DType.FLOAT16, halves, floats, BLOCK);
            HalfRuns.toHalf(DType.BFLOAT16, floats, halves, BLOCK);
            HalfRuns.fromHalf(DType.BFLOAT16, halves, floats, BLOCK);
            HalfRuns.round(DType.FLOAT16, floats, 0, BLOCK);
            HalfRuns.round(DType.BFLOAT16, floats, 0, BLOCK);
        }
    }

    private static short one(DType type, float value) {
        return type == DType.FLOAT16 ? HalfFloat.toFloat16(value) : HalfFloat.toBfloat16(value);
    }

    private static float one(DType type, short half) {
        return type == DType.FLOAT16 ? HalfFloat.fromFloat16(half) : HalfFloat.fromBfloat16(half);
    }

    /** NaNs are compared by their sign only. */
    private static void requireSame(DType type, float value, short found) {
        short expected = one(type, value);
        boolean nan = Float.isNaN(value);
        boolean same = nan ? Float.isNaN(one(type, found)) && (found ^ expected) >= 0 : found == expected;
        if (!same) {
            assertThat(String.format(Locale.ROOT, "%04x", found & 0xffff))
                    .as("%s of %a, bits %08x", type, value, Float.floatToRawIntBits(value))
                    .isEqualTo(String.format(Locale.ROOT, "%04x", expected & 0xffff));
        }
    }

    /** By the way to the half and back; any NaN is as good as another. */
    private static void requireRounded(DType type, float value, float found) {
        float expected = one(type, one(type, value));
        if (Float.floatToIntBits(found) != Float.floatToIntBits(expected)) {
            assertThat(found).as("%a rounded to %s", value, type).isEqualTo(expected);
        }
    }

    private static void requireSame(DType type, short half, float found) {
        float expected = one(type, half);
        int difference = Float.floatToRawIntBits(found) ^ Float.floatToRawIntBits(expected);
        boolean same = Float.isNaN(expected) ? Float.isNaN(found) && difference >= 0 : difference == 0;
        if (!same) {
            assertThat(found).as("%s %04x", type, half & 0xffff).isEqualTo(expected);
        }
    }

    private static void requireAllSame(DType type, float[] values) {
        float[] rounded = values.clone();
        HalfRuns.round(type, rounded, 0, values.length);
        for (int i = 0; i < values.length; i++) {
            requireRounded(type, values[i], rounded[i]);
        }
        requirePackedAlike(type, values, rounded);
        short[] halves = new short[values.length];
        HalfRuns.toHalf(type, values, halves, values.length);
        for (int i = 0; i < values.length; i++) {
            requireSame(type, values[i], halves[i]);
        }
    }

    /** The memory that ranks share gets the numbers that rounding gives, from an array, from a direct buffer and as a sum. */
    private static void requirePackedAlike(DType type, float[] values, float[] rounded) {
        ByteBuffer direct =
                ByteBuffer.allocateDirect(values.length * Float.BYTES).order(ByteOrder.nativeOrder());
        direct.asFloatBuffer().put(values);
        float[] zeros = new float[values.length];
        Arrays.fill(zeros, -0f);
        HalfRuns.addAndRound(type, zeros, values, values.length);
        requireSameNumbers(zeros, rounded);
        for (Tensor source : List.of(Tensor.of(values), Tensor.wrap(direct, DType.FLOAT32, Shape.of(values.length)))) {
            ByteBuffer stage =
                    ByteBuffer.allocateDirect(values.length * Float.BYTES).order(ByteOrder.nativeOrder());
            FlatView.rounded(List.of(source), type, new Converter()).pack(0, values.length, stage, 1);
            float[] packed = new float[values.length];
            stage.asFloatBuffer().get(packed);
            requireSameNumbers(packed, rounded);
        }
    }

    private static void requireSameNumbers(float[] found, float[] expected) {
        int differs = IntStream.range(0, found.length)
                .filter(i -> Float.floatToIntBits(found[i]) != Float.floatToIntBits(expected[i]))
                .findFirst()
                .orElse(-1);
        if (differs >= 0) {
            assertThat(found[differs]).as("element %d", differs).isEqualTo(expected[differs]);
        }
    }

    @ParameterizedTest
    @EnumSource(names = {"FLOAT16", "BFLOAT16"})
    void allHalvesBecomeTheFloatsThatTheyAre(DType type) {
        short[] halves = new short[1 << 16];
        IntStream.range(0, halves.length).forEach(bits -> halves[bits] = (short) bits);
        for (int turn = 0; turn < 2; turn++) {
            float[] floats = new float[halves.length];
            HalfRuns.fromHalf(type, halves, floats, floats.length);
            for (int bits = 0; bits < halves.length; bits++) {
                requireSame(type, halves[bits], floats[bits]);
            }
            warmUp();
        }
    }

    /** The float at each border where the half changes, and its neighbours: all exponents, ties of even and odd halves. */
    @ParameterizedTest
    @EnumSource(names = {"FLOAT16", "BFLOAT16"})
    void floatsAroundAllHalvesAndTiesAreRoundedAlike(DType type) {
        int[] patterns = IntStream.range(0, 1 << 16)
                .flatMap(bits -> IntStream.of(around(type, (short) bits)))
                .toArray();
        float[] values = new float[patterns.length];
        for (int i = 0; i < values.length; i++) {
            values[i] = Float.intBitsToFloat(patterns[i]);
        }
        requireAllSame(type, values);
        warmUp();
        requireAllSame(type, values);
    }

    /** As float bits: a half, the middle to the next one, and the floats beside both. */
    private static int[] around(DType type, short half) {
        int exact = Float.floatToRawIntBits(one(type, half));
        int next = Float.floatToRawIntBits(one(type, (short) (half + 1)));
        int middle = exact + (next - exact) / 2;
        return new int[] {exact - 1, exact, exact + 1, middle - 1, middle, middle + 1};
    }

    @ParameterizedTest
    @EnumSource(names = {"FLOAT16", "BFLOAT16"})
    void anyFloatsAreRoundedAlikeAndNansStayNans(DType type) {
        warmUp();
        long seed = 20_261_121;
        var random = new SplittableRandom(seed);
        float[] values = new float[1 << 20];
        for (int i = 0; i < values.length; i++) {
            // One in two within float16's range and near its ends, one in eight a NaN.
            values[i] = switch (i % 8) {
                case 0 -> Float.intBitsToFloat(0x7f800001 | random.nextInt());
                case 1, 2, 3 -> Float.intBitsToFloat(random.nextInt());
                default -> (float) Math.scalb(random.nextDouble() - 0.5, random.nextInt(-28, 18));
            };
        }
        requireAllSame(type, values);
    }

    @Test
    @Tag("long")
    void allFloatsAreRoundedAlike() {
        warmUp();
        float[] values = new float[1 << 20];
        for (int first = 0; first < 1 << 12; first++) {
            for (int i = 0; i < values.length; i++) {
                values[i] = Float.intBitsToFloat(first << 20 | i);
            }
            requireAllSame(DType.FLOAT16, values);
            requireAllSame(DType.BFLOAT16, values);
        }
    }

    @ParameterizedTest
    @EnumSource(names = {"FLOAT16", "BFLOAT16"})
    void noMoreIsWrittenThanAskedFor(DType type) {
        for (int count : new int[] {0, 1, 7, 8, 9, 31, 33, BLOCK}) {
            float[] floats = new float[BLOCK + 1];
            short[] halves = new short[BLOCK + 1];
            floats[count] = -1;
            halves[count] = 1;
            HalfRuns.toHalf(type, new float[BLOCK], halves, count);
            HalfRuns.fromHalf(type, new short[BLOCK], floats, count);
            assertThat(halves[count]).as("%d of %s", count, type).isEqualTo((short) 1);
            assertThat(floats[count]).as("%d of %s", count, type).isEqualTo(-1);
            Arrays.fill(floats, 0.1f);
            HalfRuns.round(type, floats, 1, Math.max(0, count - 1));
            float rounded = one(type, one(type, 0.1f));
            for (int i = 0; i <= BLOCK; i++) {
                assertThat(floats[i])
                        .as("%d of %d of %s", i, count, type)
                        .isEqualTo(i > 0 && i < count ? rounded : 0.1f);
            }
        }
    }
}
