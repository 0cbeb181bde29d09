package io.hvd.kernel;

import static io.hvd.tensor.Samples.array;
import static io.hvd.tensor.Samples.direct;
import static io.hvd.tensor.Samples.get;
import static io.hvd.tensor.Samples.read;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.hvd.tensor.DType;
import io.hvd.tensor.Samples;
import io.hvd.tensor.Samples.Place;
import io.hvd.tensor.Tensor;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class FlatViewTest {
    private static final int[] LENGTHS = {3, 0, 1, 2049, 0, 7};
    private static final int TOTAL = 2060;

    private final Converter converter = new Converter();

    /** Tensors in changing places; the elements of all of them count on from each other. */
    private static List<Tensor> tensors(DType type, int start, int factor) {
        List<Tensor> tensors = new ArrayList<>();
        int next = start;
        for (int i = 0; i < LENGTHS.length; i++) {
            int base = next;
            Object values = array(type, LENGTHS[i], k -> base + factor * k);
            tensors.add(Samples.tensor(Place.values()[i % Place.values().length], type, values));
            next += factor * LENGTHS[i];
        }
        return tensors;
    }

    @Test
    void countsTheElementsOfAllTensors() {
        assertThat(new FlatView(tensors(DType.FLOAT32, 0, 1), DType.FLOAT32, converter).elements())
                .isEqualTo(TOTAL);
        assertThat(new FlatView(List.of(), DType.FLOAT32, converter).elements()).isZero();
    }

    @Test
    void saysWhatTravels() {
        assertThat(new FlatView(List.of(), DType.BFLOAT16, converter).wire()).isEqualTo(DType.BFLOAT16);
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 5, 1000, 2048, TOTAL, 5000})
    void chunksOfAnySizeGiveTheTensorsElementsInOrder(int chunk) {
        FlatView view = new FlatView(tensors(DType.FLOAT32, 0, 1), DType.FLOAT32, converter);
        ByteBuffer stage = direct((chunk + 1) * 4);
        for (int from = 0; from < TOTAL; from += chunk) {
            int count = Math.min(chunk, TOTAL - from);
            stage.putFloat(count * 4, -1);
            view.pack(from, count, stage, 2.0);
            float[] packed = (float[]) read(stage, DType.FLOAT32, 0, count + 1);
            for (int i = 0; i < count; i++) {
                assertThat(packed[i]).isEqualTo(2f * (from + i));
            }
            assertThat(packed[count]).as("behind the chunk").isEqualTo(-1);
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 5, 1000, 2048, TOTAL, 5000})
    void chunksOfAnySizeGoBackToWhereTheyCameFrom(int chunk) {
        List<Tensor> tensors = tensors(DType.FLOAT64, -1, 0);
        FlatView view = new FlatView(tensors, DType.FLOAT32, converter);
        ByteBuffer stage = direct(chunk * 4);
        for (int from = 0; from < TOTAL; from += chunk) {
            int count = Math.min(chunk, TOTAL - from);
            for (int i = 0; i < count; i++) {
                stage.putFloat(i * 4, 10 + from + i);
            }
            view.unpack(from, count, stage, Scale.by(0.5));
        }
        int next = 10;
        for (Tensor tensor : tensors) {
            Object values = tensor.toArray();
            for (int i = 0; i < tensor.elements(); i++) {
                assertThat(get(DType.FLOAT64, values, i)).isEqualTo(next++ / 2.0);
            }
        }
    }

    /** What goes straight into arrays is what goes into stages, in both directions. */
    @ParameterizedTest
    @ValueSource(ints = {1, 5, 1000, 2048})
    void anArrayTakesAndGivesWhatAStageDoes(int chunk) {
        for (DType wire : List.of(DType.FLOAT32, DType.FLOAT16)) {
            for (double scale : new double[] {1, 0.5}) {
                List<Tensor> taken = tensors(DType.FLOAT32, 0, 1);
                List<Tensor> given = tensors(DType.FLOAT32, 0, 0);
                FlatView source = new FlatView(taken, wire, converter);
                FlatView target = new FlatView(given, wire, converter);
                ByteBuffer stage = direct(chunk * wire.bytes());
                Object block = array(wire, chunk, i -> 0);
                for (int from = 0; from < TOTAL; from += chunk) {
                    int count = Math.min(chunk, TOTAL - from);
                    source.pack(from, count, stage, scale);
                    source.read(from, count, block, scale);
                    Object packed = read(stage, wire, 0, count);
                    for (int i = 0; i < count; i++) {
                        assertThat(get(wire, block, i)).isEqualTo(get(wire, packed, i));
                    }
                    target.write(from, count, block, Scale.by(1 / scale));
                    for (int i = 0; i < count; i++) {
                        assertThat(get(wire, block, i)).as("stays as it is").isEqualTo(get(wire, packed, i));
                    }
                }
                double halfOfAStep = wire == DType.FLOAT16 ? 1 : 0; // neighbouring halves from 2048 on differ by 2
                for (int i = 0; i < LENGTHS.length; i++) {
                    Object values = given.get(i).toArray();
                    for (int k = 0; k < LENGTHS[i]; k++) {
                        assertThat(get(DType.FLOAT32, values, k))
                                .isCloseTo(get(DType.FLOAT32, taken.get(i).toArray(), k), within(halfOfAStep));
                    }
                }
            }
        }
    }

    @Test
    void theStageHoldsElementsOfTheWireType() {
        List<Tensor> tensors = List.of(Tensor.of(1f, 2f, 3f), Tensor.of(4f, 5f));
        FlatView view = new FlatView(tensors, DType.FLOAT16, converter);
        ByteBuffer stage = direct(8);
        view.pack(1, 4, stage, 1.0);
        assertThat(read(stage, DType.FLOAT16, 0, 4)).isEqualTo(array(DType.FLOAT16, 4, i -> i + 2));
    }
}
