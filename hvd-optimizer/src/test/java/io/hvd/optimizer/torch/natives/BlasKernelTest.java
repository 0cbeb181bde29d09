package io.hvd.optimizer.torch.natives;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.kernel.ReduceKernel;
import io.hvd.optimizer.torch.TorchRuntime;
import io.hvd.tensor.DType;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Random;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** OpenBLAS adds with the bits of Java, to which a rank without LibTorch must come too. */
@Timeout(60)
class BlasKernelTest {
    private static final int[] COUNTS = {0, 1, 15, 4096, 8192, 8193, 30_001};

    @BeforeAll
    static void unpack() {
        TorchRuntime.prepare();
        BlasKernel.install();
    }

    @Test
    void itIsWhatTheProcessAddsByOnceAnOptimizerIsThere() {
        for (DType type : DType.values()) {
            assertThat(ReduceKernel.OFFERED.takes(type))
                    .as("%s", type)
                    .isEqualTo(type == DType.FLOAT32 || type == DType.FLOAT64);
        }
    }

    @ParameterizedTest
    @EnumSource(
            value = DType.class,
            names = {"FLOAT32", "FLOAT64"})
    void sumsHaveTheBitsOfJava(DType type) {
        Random random = new Random(5);
        for (int count : COUNTS) {
            ByteBuffer operand = values(type, count + 1, random);
            ByteBuffer sum = values(type, count + 1, random);
            double[] expected = new double[count + 1];
            for (int i = 0; i <= count; i++) {
                expected[i] = i == count
                        ? get(type, sum, i)
                        : type == DType.FLOAT32
                                ? (float) get(type, sum, i) + (float) get(type, operand, i)
                                : get(type, sum, i) + get(type, operand, i);
            }
            ReduceKernel.OFFERED.add(type, operand, sum, count);
            requireSame(type, sum, expected);
        }
    }

    @ParameterizedTest
    @EnumSource(
            value = DType.class,
            names = {"FLOAT32", "FLOAT64"})
    void productsHaveTheBitsOfJava(DType type) {
        Random random = new Random(6);
        for (double factor : new double[] {1 / 3.0, -0.25, 0, -0.0, 1e300, Double.NaN, Double.NEGATIVE_INFINITY}) {
            for (int count : COUNTS) {
                ByteBuffer product = values(type, count + 1, random);
                double[] expected = new double[count + 1];
                for (int i = 0; i <= count; i++) {
                    expected[i] = i == count
                            ? get(type, product, i)
                            : type == DType.FLOAT32
                                    ? (float) get(type, product, i) * (float) factor
                                    : get(type, product, i) * factor;
                }
                ReduceKernel.OFFERED.multiply(type, factor, product, count);
                requireSame(type, product, expected);
            }
        }
    }

    /** Any bits, and so also infinities, subnormal numbers and NaN. */
    private static ByteBuffer values(DType type, int count, Random random) {
        ByteBuffer values = ByteBuffer.allocateDirect(count * type.bytes()).order(ByteOrder.nativeOrder());
        for (int i = 0; i < count; i++) {
            if (type == DType.FLOAT32) {
                values.putInt(i * Float.BYTES, random.nextInt());
            } else {
                values.putLong(i * Double.BYTES, random.nextLong());
            }
        }
        return values;
    }

    private static double get(DType type, ByteBuffer values, int index) {
        return type == DType.FLOAT32 ? values.getFloat(index * Float.BYTES) : values.getDouble(index * Double.BYTES);
    }

    private static void requireSame(DType type, ByteBuffer found, double[] expected) {
        for (int i = 0; i < expected.length; i++) {
            if (Double.compare(get(type, found, i), expected[i]) != 0) {
                assertThat(get(type, found, i)).as("%s, element %d", type, i).isEqualTo(expected[i]);
            }
        }
    }
}
