package io.hvd.optimizer.torch.memory;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.AllreduceOptions;
import io.hvd.Compression;
import io.hvd.Hvd;
import io.hvd.optimizer.torch.TorchRuntime;
import io.hvd.tensor.HalfFloat;
import io.hvd.tensor.Tensor;
import java.util.Random;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.ScalarType;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** LibTorch's conversions have the bits of Java's, to which a rank without LibTorch must come too. */
@Timeout(60)
class TorchHalvesTest {
    private static final int SAMPLES = 1 << 20;

    @BeforeAll
    static void unpack() {
        TorchRuntime.prepare();
        TorchHalves.install();
    }

    @Test
    void allHalvesBecomeTheFloatsThatTheyAre() {
        short[] halves = new short[1 << 16];
        for (int bits = 0; bits < halves.length; bits++) {
            halves[bits] = (short) bits;
        }
        float[] floats = new float[halves.length];
        new TorchHalves().widen(halves, floats, floats.length);
        for (int bits = 0; bits < halves.length; bits++) {
            float expected = HalfFloat.fromFloat16(halves[bits]);
            if (Float.floatToIntBits(floats[bits]) != Float.floatToIntBits(expected)) {
                assertThat(floats[bits]).as("bits %04x", bits).isEqualTo(expected);
            }
        }
    }

    /** Floats of all exponents, half of them in the middle between two halves or right beside it. */
    @Test
    void floatsBecomeTheNearestHalves() {
        Random random = new Random(3);
        float[] floats = new float[SAMPLES];
        for (int i = 0; i < SAMPLES; i++) {
            int bits = random.nextInt();
            floats[i] = Float.intBitsToFloat(i % 2 == 0 ? bits : (bits & -0x1000) + random.nextInt(3) - 1);
        }
        short[] found = new short[SAMPLES];
        new TorchHalves().narrow(floats, found, SAMPLES);
        for (int i = 0; i < SAMPLES; i++) {
            short expected = HalfFloat.toFloat16(floats[i]);
            boolean same = Float.isNaN(floats[i]) ? Float.isNaN(HalfFloat.fromFloat16(found[i])) : found[i] == expected;
            if (!same) {
                assertThat(found[i]).as("%a", floats[i]).isEqualTo(expected);
            }
        }
    }

    /** Rounding in place, of a part of an array, is the way to the half and back. */
    @Test
    void floatsAreRoundedToTheNumbersOfHalves() {
        Random random = new Random(4);
        float[] floats = new float[10_001];
        for (int i = 0; i < floats.length; i++) {
            floats[i] = (float) Math.scalb(random.nextDouble() - 0.5, random.nextInt(-28, 18));
        }
        float[] found = floats.clone();
        new TorchHalves().round(found, 1, floats.length - 2);
        for (int i = 0; i < floats.length; i++) {
            boolean inside = i > 0 && i < floats.length - 1;
            float expected = inside ? HalfFloat.fromFloat16(HalfFloat.toFloat16(floats[i])) : floats[i];
            assertThat(found[i]).as("%a, number %d", floats[i], i).isEqualTo(expected);
        }
    }

    /** With float64 as the default type, blocks of that type would hold other numbers than the ones put into them. */
    @Test
    void theDefaultTypeOfTheProgramDoesNotMatter() {
        ScalarType before = torch.get_default_dtype_as_scalartype();
        torch.set_default_dtype(torch.scalarTypeToTypeMeta(ScalarType.Double));
        TorchHalves kernel;
        try {
            kernel = new TorchHalves();
        } finally {
            torch.set_default_dtype(torch.scalarTypeToTypeMeta(before));
        }
        float[] floats = {1, -2.5f, 1024};
        short[] halves = new short[3];
        float[] back = new float[3];
        kernel.narrow(floats, halves, 3);
        kernel.widen(halves, back, 3);
        assertThat(halves).containsExactly((short) 0x3C00, (short) 0xC100, (short) 0x6400);
        assertThat(back).containsExactly(1, -2.5f, 1024);
    }

    /** The memory of a thread's kernel must outlive the scope in which the thread first converts. */
    @Test
    void aScopeThatEndsTakesNoMemoryFromLaterConversions() {
        Hvd.spawn(2, hvd -> {
            float[] values = new float[5000];
            for (int i = 0; i < values.length; i++) {
                values[i] = i % 1000 + hvd.rank();
            }
            for (int round = 0; round < 200; round++) {
                try (PointerScope scope = new PointerScope()) {
                    float[] sums = hvd.allreduce(
                                    "x",
                                    Tensor.of(values),
                                    AllreduceOptions.sum().withCompression(Compression.FP16))
                            .toFloatArray();
                    for (int i = 0; i < sums.length; i++) {
                        assertThat(sums[i]).isEqualTo(2 * (i % 1000) + 1);
                    }
                }
            }
            return null;
        });
    }
}
