package io.hvd.examples.gpu;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.kernel.Converter;
import io.hvd.kernel.Scale;
import io.hvd.tensor.DType;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** G4 can only find what this comparison finds. */
class KernelBitsTest {
    private static final int ELEMENTS = 100;
    /** Elements 60 to 63 are in no tensor. */
    private static final List<KernelBits.Run> RUNS = List.of(new KernelBits.Run(0, 60), new KernelBits.Run(64, 36));

    private final ByteBuffer source = bytes(4);
    private final KernelBits bits = new KernelBits(source, RUNS);

    @ParameterizedTest
    @EnumSource(names = {"FLOAT16", "BFLOAT16"})
    void everyElementThatDiffersIsCountedOnBothWaysAndNoneBetweenTheTensors(DType wire) {
        for (int i = 0; i < ELEMENTS; i++) {
            source.putFloat(4 * i, i / 3f - 20);
        }
        ByteBuffer narrow = bytes(2);
        ByteBuffer back = bytes(4);
        new Converter().pack(floats(source), 0, ELEMENTS, narrow, 0, wire, 0.25);
        new Converter().unpack(narrow, 0, wire, floats(back), 0, ELEMENTS, Scale.by(4));
        assertThat(bits.wrongNarrowed(narrow, wire, 0.25)).isZero();
        assertThat(bits.wrongWidened(narrow, back, wire, 4)).isZero();

        back.putInt(4 * 62, 1);
        assertThat(bits.wrongWidened(narrow, back, wire, 4)).isZero();
        back.putInt(4 * 64, back.getInt(4 * 64) ^ 1);
        back.putInt(4 * 59, back.getInt(4 * 59) ^ 1);
        assertThat(bits.wrongWidened(narrow, back, wire, 4)).isEqualTo(2);
        narrow.putShort(2 * 99, (short) 1);
        assertThat(bits.wrongNarrowed(narrow, wire, 0.25)).isEqualTo(1);
    }

    @ParameterizedTest
    @EnumSource(names = {"FLOAT16", "BFLOAT16"})
    void whatIsTooLargeOrNoNumberIsNotFinite(DType wire) {
        source.putFloat(0, 1e6f);
        source.putFloat(4 * 64, Float.NaN);
        source.putFloat(4 * 61, Float.POSITIVE_INFINITY);
        ByteBuffer narrow = bytes(2);
        new Converter().pack(floats(source), 0, ELEMENTS, narrow, 0, wire, 1);

        assertThat(bits.nonFinite(narrow, wire)).isEqualTo(wire == DType.FLOAT16 ? 2 : 1);
    }

    private static Tensor floats(ByteBuffer buffer) {
        return Tensor.wrap(buffer, DType.FLOAT32, Shape.of(ELEMENTS));
    }

    private static ByteBuffer bytes(int each) {
        return ByteBuffer.allocateDirect(each * ELEMENTS).order(ByteOrder.nativeOrder());
    }
}
