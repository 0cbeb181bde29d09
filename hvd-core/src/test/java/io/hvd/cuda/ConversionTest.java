package io.hvd.cuda;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.kernel.Scale;
import io.hvd.tensor.DType;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class ConversionTest {
    private static final List<DType> SHORT_INTEGERS =
            List.of(DType.INT8, DType.UINT8, DType.INT16, DType.UINT16, DType.INT32);

    /** What a kernel does to an element: it is multiplied as a double and cut off. */
    @Test
    void integersOfUpTo32BitsComeToTheExactQuotientByAProduct() {
        Random random = new Random(3);
        for (int divisor = 2; divisor < 3000; divisor++) {
            Scale scale = new Scale(1, divisor);
            assertThat(SHORT_INTEGERS).allMatch(type -> Conversion.multiplies(type, scale));
            double factor = Conversion.scaled(DType.INT32, DType.INT32, scale).scale();
            for (int i = 0; i < 200; i++) {
                int multiple = random.nextInt(Integer.MAX_VALUE / divisor) * divisor;
                for (int value : new int[] {multiple, multiple - 1, multiple + 1, -multiple, -multiple + 1}) {
                    requireQuotient(value, divisor, factor);
                }
            }
            requireQuotient(Integer.MIN_VALUE, divisor, factor);
            requireQuotient(Integer.MAX_VALUE, divisor, factor);
        }
    }

    private static void requireQuotient(int value, int divisor, double factor) {
        if ((int) (value * factor) != value / divisor) {
            throw new AssertionError(value + " / " + divisor + " came to " + (int) (value * factor));
        }
    }

    @Test
    void noProductComesToTheQuotientsOfLongsNorToThoseOfScaledIntegers() {
        assertThat(Conversion.multiplies(DType.INT64, new Scale(1, 3))).isFalse();
        assertThat(Conversion.multiplies(DType.INT32, new Scale(0.5, 3))).isFalse();
    }

    @Test
    void whatIsNotDividedIsMultipliedByItsFactor() {
        for (DType type : List.of(DType.INT64, DType.INT8)) {
            assertThat(Conversion.multiplies(type, Scale.by(0.3))).isTrue();
            assertThat(Conversion.scaled(type, type, Scale.by(0.3)).scale()).isEqualTo(0.3);
            assertThat(Conversion.multiplies(type, new Scale(3, 3))).isTrue();
            assertThat(Conversion.scaled(type, type, new Scale(3, 3))).isEqualTo(Conversion.copy(type));
        }
    }

    @Test
    void floatsAreMultipliedByTheFactorOverTheDivisor() {
        assertThat(Conversion.multiplies(DType.FLOAT16, new Scale(0.7, 49))).isTrue();
        assertThat(Conversion.scaled(DType.FLOAT16, DType.FLOAT32, new Scale(0.7, 49))
                        .scale())
                .isEqualTo(0.7 / 49);
    }
}
