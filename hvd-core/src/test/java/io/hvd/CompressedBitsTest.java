package io.hvd;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.tensor.HalfFloat;
import io.hvd.tensor.Tensor;
import java.util.Arrays;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * What ranks that share a memory get of compressed tensors, to the last bit: every contribution is rounded to 16 bits, the sum in
 * float32 too, and then it is scaled; however it lies in the memory.
 */
@Timeout(60)
class CompressedBitsTest {
    private static final int RANKS = 3;
    private static final double PRESCALE = 0.7;

    /** Numbers around the range of float16, from zeros of both signs and its subnormal numbers to its infinity. */
    private static double[] values(int rank, int count) {
        var random = new SplittableRandom(7 + rank);
        double[] values = new double[count];
        Arrays.setAll(values, i -> i % 11 == 0 ? -0.0 : Math.scalb(random.nextDouble() - 0.5, random.nextInt(-28, 18)));
        return values;
    }

    private static float rounded(Compression kind, double value) {
        return kind == Compression.FP16
                ? HalfFloat.fromFloat16(HalfFloat.toFloat16(value))
                : HalfFloat.fromBfloat16(HalfFloat.toBfloat16(value));
    }

    private static float sum(Compression kind, int place, double[][] contributions) {
        float sum = (float) contributions[0][place];
        for (int rank = 1; rank < RANKS; rank++) {
            sum += (float) contributions[rank][place];
        }
        return rounded(kind, sum);
    }

    private static float[] floats(double[] values) {
        float[] floats = new float[values.length];
        for (int i = 0; i < floats.length; i++) {
            floats[i] = (float) values[i];
        }
        return floats;
    }

    /** The largest one takes several rounds, and the others end on both sides of what travels in one step. */
    @ParameterizedTest(name = "{0} elements as {1}")
    @CsvSource({"1, FP16", "500, FP16", "600, BF16", "2500, FP16", "400001, FP16", "400001, BF16"})
    void areThoseOfAPlainLoop(int count, Compression kind) {
        AllreduceOptions how = AllreduceOptions.average().withPrescale(PRESCALE).withCompression(kind);
        double[][] ofFloats = new double[RANKS][count];
        double[][] ofDoubles = new double[RANKS][count];
        for (int rank = 0; rank < RANKS; rank++) {
            double[] own = values(rank, count);
            for (int i = 0; i < count; i++) {
                ofFloats[rank][i] = rounded(kind, (float) own[i] * (float) PRESCALE);
                ofDoubles[rank][i] = rounded(kind, own[i] * PRESCALE);
            }
        }
        Hvd.spawn(RANKS, hvd -> {
            double[] own = values(hvd.rank(), count);
            float[] ofFloat = hvd.allreduce("f", Tensor.of(floats(own)), how).toFloatArray();
            double[] ofDouble =
                    (double[]) hvd.allreduce("d", Tensor.of(own), how).toArray();
            for (int i = 0; i < count; i++) {
                requireSame(ofFloat[i], sum(kind, i, ofFloats) * (float) (1.0 / RANKS), own[i]);
                requireSame(ofDouble[i], sum(kind, i, ofDoubles) * (1.0 / RANKS), own[i]);
            }
            return null;
        });
    }

    private static void requireSame(double found, double expected, double own) {
        if (Double.doubleToLongBits(found) != Double.doubleToLongBits(expected)) {
            assertThat(found).as("sum that %a is a part of", own).isEqualTo(expected);
        }
    }
}
