package io.hvd.optimizer;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.Compression;
import io.hvd.Hvd;
import io.hvd.tensor.DType;
import io.hvd.tensor.Tensor;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What becomes of gradients that travel in a narrower type. */
@Timeout(60)
class GradientCompressionTest {
    /** The largest float16 is 65,504 and the smallest 2^-24, so the place of the division decides. */
    @ParameterizedTest(name = "{0} on 4 ranks, predivided by {1}: {2}")
    @CsvSource({
        "30000, 1, Infinity",
        "30000, 4, 30000",
        "1e-7, 1, 1.1920929e-7",
        "1e-7, 4, 0",
    })
    void predividingDecidesBetweenOverflowAndUnderflowInFloat16(float gradient, double factor, float expected) {
        List<Float> averages = Hvd.spawn(4, hvd -> {
            float[] values = {gradient};
            optimizer(Tensor.of(values), Compression.FP16, factor).synchronize();
            return values[0];
        });

        assertThat(averages).containsOnly(expected);
    }

    @Test
    void bfloat16KeepsTheRangeAndRoundsToEightBits() {
        List<float[]> averages = Hvd.spawn(2, hvd -> {
            float[] values = {70_000, 1 + 1f / 256, 3 * hvd.rank()};
            optimizer(Tensor.of(values), Compression.BF16, 1).synchronize();
            return values;
        });

        assertThat(averages).allSatisfy(values -> assertThat(values).containsExactly(70_144, 1, 1.5f));
    }

    @Test
    void withoutCompressionNothingIsRounded() {
        List<float[]> averages = Hvd.spawn(2, hvd -> {
            float[] values = {70_000, 1 + 1f / 256};
            optimizer(Tensor.of(values), Compression.NONE, 1).synchronize();
            return values;
        });

        assertThat(averages).allSatisfy(values -> assertThat(values).containsExactly(70_000, 1 + 1f / 256));
    }

    @Test
    void integersAreNotCompressed() {
        List<int[]> averages = Hvd.spawn(2, hvd -> {
            int[] values = {1_000_001 + 2 * hvd.rank()};
            optimizer(Tensor.of(values), Compression.FP16, 1).synchronize();
            return values;
        });

        assertThat(averages).allSatisfy(values -> assertThat(values).containsExactly(1_000_002));
    }

    @Test
    void doublesComeBackAsDoubles() {
        List<Tensor> averages = Hvd.spawn(2, hvd -> {
            Tensor gradient = Tensor.of(0.1, 2.0 + hvd.rank());
            optimizer(gradient, Compression.FP16, 1).synchronize();
            return gradient;
        });

        assertThat(averages).allSatisfy(gradient -> {
            assertThat(gradient.dtype()).isEqualTo(DType.FLOAT64);
            assertThat((double[]) gradient.toArray())
                    .as("0.1 as float16, exact otherwise")
                    .containsExactly(0.0999755859375, 2.5);
        });
    }

    @Test
    void oneRankAloneCompressesNothing() {
        Hvd.spawn(1, hvd -> {
            float[] values = {1.0001f, 100_000};
            DistributedOptimizer optimizer = optimizer(Tensor.of(values), Compression.FP16, 4);
            optimizer.gradientReady("p");
            optimizer.step();
            assertThat(values).containsExactly(1.0001f, 100_000);
            return null;
        });
    }

    @Test
    void onOneHostNothingIsCompressedByAuto() {
        List<Float> averages = Hvd.spawn(2, hvd -> {
            float[] values = {1 + 0x1p-12f};
            optimizer(Tensor.of(values), Compression.AUTO, 1).synchronize();
            return values[0];
        });

        assertThat(averages).as("1 as float16 and bfloat16").containsOnly(1 + 0x1p-12f);
    }

    private static DistributedOptimizer optimizer(Tensor gradient, Compression compression, double predivide) {
        return DistributedOptimizer.wrap(new RecordingOptimizer(List.of(new Parameter("p", gradient, gradient))))
                .compression(compression)
                .gradientPredivideFactor(predivide)
                .build();
    }
}
