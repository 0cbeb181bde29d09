package io.hvd.tensor;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import java.util.Locale;
import java.util.SplittableRandom;
import java.util.function.IntFunction;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class HalfFloatTest {
    /** What float16 bits mean, by the formula of the standard. */
    private static double float16(int bits) {
        int exponent = (bits >>> 10) & 0x1f;
        int fraction = bits & 0x3ff;
        return exponent == 0
                ? Math.scalb((double) fraction, -24)
                : Math.scalb((double) (1024 + fraction), exponent - 25);
    }

    /** What bfloat16 bits mean: 8 bits of exponent, 7 of fraction. */
    private static double bfloat16(int bits) {
        int exponent = (bits >>> 7) & 0xff;
        int fraction = bits & 0x7f;
        return exponent == 0
                ? Math.scalb((double) fraction, -133)
                : Math.scalb((double) (128 + fraction), exponent - 134);
    }

    /** The values of all bit patterns from zero to infinity; infinity stands for the next power of two, where rounding begins. */
    private static double[] ladder(IntFunction<Double> value, int infinity) {
        double[] ladder = new double[infinity + 1];
        Arrays.setAll(ladder, value::apply);
        return ladder;
    }

    /** Rounds by looking for the two neighbours; compares doubles exactly because both sides have few bits. */
    private static int nearestEven(double[] ladder, float value) {
        double magnitude = Math.abs((double) value);
        int found = Arrays.binarySearch(ladder, magnitude);
        if (found >= 0) {
            return found;
        }
        int above = -found - 1;
        if (above == ladder.length) {
            return ladder.length - 1;
        }
        int side = Double.compare(2 * magnitude, ladder[above - 1] + ladder[above]);
        boolean up = side > 0 || (side == 0 && above % 2 == 0);
        return up ? above : above - 1;
    }

    private static int signOf(float value) {
        return Float.floatToRawIntBits(value) < 0 ? 0x8000 : 0;
    }

    private static final double[] FLOAT16S = ladder(HalfFloatTest::float16, 0x7c00);
    private static final double[] BFLOAT16S = ladder(HalfFloatTest::bfloat16, 0x7f80);

    private static void requireFloat16(float value) {
        int expected = signOf(value) | nearestEven(FLOAT16S, value);
        int found = HalfFloat.toFloat16(value) & 0xffff;
        if (found != expected) {
            assertThat(found).as("float16 of %a", value).isEqualTo(expected);
        }
    }

    private static void requireBfloat16(float value) {
        int expected = signOf(value) | nearestEven(BFLOAT16S, value);
        int found = HalfFloat.toBfloat16(value) & 0xffff;
        if (found != expected) {
            assertThat(found).as("bfloat16 of %a", value).isEqualTo(expected);
        }
    }

    @Test
    void everyFiniteFloat16MeansWhatTheStandardSays() {
        for (int bits = 0; bits < 0x7c00; bits++) {
            assertThat(HalfFloat.fromFloat16((short) bits)).isEqualTo((float) float16(bits));
            assertThat(HalfFloat.fromFloat16((short) (bits | 0x8000))).isEqualTo((float) -float16(bits));
        }
    }

    @Test
    void everyFiniteBfloat16MeansWhatItsBitsSay() {
        for (int bits = 0; bits < 0x7f80; bits++) {
            assertThat(HalfFloat.fromBfloat16((short) bits)).isEqualTo((float) bfloat16(bits));
            assertThat(HalfFloat.fromBfloat16((short) (bits | 0x8000))).isEqualTo((float) -bfloat16(bits));
        }
    }

    @Test
    void allBitPatternsSurviveTheWayToFloatAndBackAndNansStayNans() {
        for (int bits = 0; bits < 0x10000; bits++) {
            float half = HalfFloat.fromFloat16((short) bits);
            boolean nan = (bits & 0x7fff) > 0x7c00;
            assertThat(Float.isNaN(half)).as("%04x as float16", bits).isEqualTo(nan);
            int back = HalfFloat.toFloat16(half) & 0xffff;
            assertThat(back).as("%04x as float16", bits).isEqualTo(nan ? bits | 0x200 : bits);

            float brain = HalfFloat.fromBfloat16((short) bits);
            boolean brainNan = (bits & 0x7fff) > 0x7f80;
            assertThat(Float.isNaN(brain)).as("%04x as bfloat16", bits).isEqualTo(brainNan);
            back = HalfFloat.toBfloat16(brain) & 0xffff;
            assertThat(back).as("%04x as bfloat16", bits).isEqualTo(brainNan ? bits | 0x40 : bits);
        }
    }

    @Test
    void floatsAroundEveryFloat16AndEveryTieGoToTheNearestAndTiesToEven() {
        for (int bits = 0; bits < 0x7c00; bits++) {
            float tie = (float) ((FLOAT16S[bits] + FLOAT16S[bits + 1]) / 2);
            for (float middle : new float[] {(float) FLOAT16S[bits], tie}) {
                for (float value : new float[] {Math.nextDown(middle), middle, Math.nextUp(middle)}) {
                    requireFloat16(value);
                    requireFloat16(-value);
                }
            }
        }
    }

    @Test
    void floatsAroundEveryBfloat16AndEveryTieGoToTheNearestAndTiesToEven() {
        for (int bits = 0; bits < 0x7f80; bits++) {
            float tie = (float) ((BFLOAT16S[bits] + BFLOAT16S[bits + 1]) / 2);
            for (float middle : new float[] {(float) BFLOAT16S[bits], tie}) {
                for (float value : new float[] {Math.nextDown(middle), middle, Math.nextUp(middle)}) {
                    requireBfloat16(value);
                    requireBfloat16(-value);
                }
            }
        }
    }

    @Test
    void anyFloatIsRoundedAsTheSlowReferenceRoundsIt() {
        var random = new SplittableRandom(20261121);
        for (int i = 0; i < 1_000_000; i++) {
            float value = Float.intBitsToFloat(random.nextInt());
            if (!Float.isNaN(value)) {
                requireFloat16(value);
                requireBfloat16(value);
            }
            // Most bit patterns lie outside float16's range; these lie inside.
            requireFloat16((float) Math.scalb(random.nextDouble() - 0.5, random.nextInt(-26, 18)));
        }
    }

    @ParameterizedTest
    @CsvSource({
        "65504, 7bff",
        "65519.996, 7bff",
        "65520, 7c00",
        "65536, 7c00",
        "Infinity, 7c00",
        "-65519.996, fbff",
        "-65520, fc00",
        "-Infinity, fc00",
        "0.0, 0000",
        "-0.0, 8000",
        "0x1p-14, 0400",
        "0x1.ff8p-15, 03ff",
        "0x1p-24, 0001",
        "0x1p-25, 0000",
        "0x1.000002p-25, 0001",
        "1e-7, 0002",
        "0x1.002p0, 3c00",
        "0x1.006p0, 3c02",
    })
    void knownFloatsGiveKnownFloat16Bits(float value, String bits) {
        assertThat(String.format(Locale.ROOT, "%04x", HalfFloat.toFloat16(value) & 0xffff))
                .isEqualTo(bits);
    }

    @ParameterizedTest
    @CsvSource({
        "1, 3f80",
        "0x1.01p0, 3f80",
        "0x1.03p0, 3f82",
        "3.4028235e38, 7f80",
        "-3.4028235e38, ff80",
        "0x1.fep127, 7f7f",
        "Infinity, 7f80",
        "1.4e-45, 0000",
        "-0.0, 8000",
    })
    void knownFloatsGiveKnownBfloat16Bits(float value, String bits) {
        assertThat(String.format(Locale.ROOT, "%04x", HalfFloat.toBfloat16(value) & 0xffff))
                .isEqualTo(bits);
    }

    @Test
    void nansKeepTheirSignAndNeverTurnIntoInfinity() {
        for (int payload : new int[] {1, 0x1fff, 0x2000, 0x400000, 0x7fffff}) {
            for (int sign : new int[] {0, 0x80000000}) {
                float nan = Float.intBitsToFloat(sign | 0x7f800000 | payload);
                int half = HalfFloat.toFloat16(nan) & 0xffff;
                int brain = HalfFloat.toBfloat16(nan) & 0xffff;
                assertThat(half & 0x7fff).as("payload %x", payload).isGreaterThan(0x7c00);
                assertThat(brain & 0x7fff).as("payload %x", payload).isGreaterThan(0x7f80);
                assertThat(half >>> 15).isEqualTo(sign >>> 31);
                assertThat(brain >>> 15).isEqualTo(sign >>> 31);
            }
        }
    }

    @Test
    void aDoubleBesideTheMiddleGoesToItsOwnSideThoughAFloatWouldSitInTheMiddle() {
        assertThat(HalfFloat.toFloat16(1 + 0x1p-11)).as("a tie, to even").isEqualTo((short) 0x3c00);
        assertThat(HalfFloat.toFloat16(1 + 0x1p-11 + 0x1p-50)).isEqualTo((short) 0x3c01);
        assertThat(HalfFloat.toFloat16((float) (1 + 0x1p-11 + 0x1p-50))).isEqualTo((short) 0x3c00);
        assertThat(HalfFloat.toFloat16(-(1 + 3 * 0x1p-11 - 0x1p-50))).isEqualTo((short) 0xbc01);
        assertThat(HalfFloat.toFloat16(0x1p-25 + 0x1p-70))
                .as("the smallest half")
                .isEqualTo((short) 1);
        assertThat(HalfFloat.toBfloat16(1 + 0x1p-8 + 0x1p-50)).isEqualTo((short) 0x3f81);
        assertThat(HalfFloat.toBfloat16((float) (1 + 0x1p-8 + 0x1p-50))).isEqualTo((short) 0x3f80);
    }

    @Test
    void doublesBeyondTheFloatsKeepTheirSignAndKind() {
        assertThat(HalfFloat.toFloat16(-1e300)).isEqualTo((short) 0xfc00);
        assertThat(HalfFloat.toFloat16(-1e-300)).isEqualTo((short) 0x8000);
        assertThat(HalfFloat.toFloat16(65_519.999999)).isEqualTo((short) 0x7bff);
        assertThat(HalfFloat.toBfloat16(1e300)).isEqualTo((short) 0x7f80);
        assertThat(HalfFloat.toBfloat16(Double.POSITIVE_INFINITY)).isEqualTo((short) 0x7f80);
        assertThat(HalfFloat.fromFloat16(HalfFloat.toFloat16(Double.NaN))).isNaN();
        assertThat(HalfFloat.fromBfloat16(HalfFloat.toBfloat16(Double.NaN))).isNaN();
    }

    @Test
    void randomDoublesFallOnTheNearestHalfOrOnTheEvenOneOfTwo() {
        long seed = 20_261;
        SplittableRandom random = new SplittableRandom(seed);
        for (int i = 0; i < 200_000; i++) {
            // A middle between two halves, and a last bit of a double beside it.
            int bits = random.nextInt(0x7bff);
            double middle = (float16(bits) + float16(bits + 1)) / 2;
            double above = Math.nextUp(middle);
            double below = Math.nextDown(middle);
            if (HalfFloat.toFloat16(above) != (short) (bits + 1) || HalfFloat.toFloat16(below) != (short) bits) {
                assertThat(new int[] {HalfFloat.toFloat16(above), HalfFloat.toFloat16(below)})
                        .as("around %a, seed %d", middle, seed)
                        .containsExactly(bits + 1, bits);
            }
        }
    }
}
