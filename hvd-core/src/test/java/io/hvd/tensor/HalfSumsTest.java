package io.hvd.tensor;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.kernel.Converter;
import io.hvd.kernel.FlatView;
import io.hvd.kernel.Reducer;
import io.hvd.kernel.Scale;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * A sum on its way through memory that ranks share, as 16-bit numbers and as float32 rounded to them, beside one that {@link
 * HalfFloat} makes number by number.
 */
class HalfSumsTest {
    /** The runs after which the loops of a block are compiled. */
    private static final int WARM_RUNS = 400;

    private static final long SEED = 20_261_127;
    private static final int PADDING = 3;

    /** A tensor of each kind of memory; floats lie at any multiple of four bytes. */
    private static Tensor tensor(int kind, double[] values) {
        float[] floats = new float[values.length];
        IntStream.range(0, values.length).forEach(i -> floats[i] = (float) values[i]);
        return switch (kind) {
            case 0 -> Tensor.of(floats);
            case 1 -> Tensor.wrap(direct(floats, PADDING), DType.FLOAT32, Shape.of(floats.length));
            case 2 -> split(floats);
            default -> Tensor.of(values);
        };
    }

    private static ByteBuffer direct(float[] floats, int padding) {
        ByteBuffer memory = ByteBuffer.allocateDirect((padding + floats.length) * Float.BYTES)
                .order(ByteOrder.nativeOrder());
        memory.asFloatBuffer().put(padding, floats);
        return memory.position(padding * Float.BYTES).slice().order(ByteOrder.nativeOrder());
    }

    private static Tensor split(float[] floats) {
        int half = floats.length / 2;
        float[] left = Arrays.copyOfRange(floats, 0, half);
        float[] right = Arrays.copyOfRange(floats, half, floats.length);
        return Tensor.wrap(List.of(direct(left, 1), direct(right, 2)), DType.FLOAT32, Shape.of(floats.length));
    }

    /** Any bits of a float; within float16's range, below it and near its ends. */
    private static double any(SplittableRandom random) {
        return switch (random.nextInt(8)) {
            case 0 -> Float.intBitsToFloat(0x7f800001 | random.nextInt());
            case 1, 2 -> Float.intBitsToFloat(random.nextInt());
            default -> (float) Math.scalb(random.nextDouble() - 0.5, random.nextInt(-28, 18));
        };
    }

    private static float rounded(DType half, float value) {
        return half == DType.FLOAT16
                ? HalfFloat.fromFloat16(HalfFloat.toFloat16(value))
                : HalfFloat.fromBfloat16(HalfFloat.toBfloat16(value));
    }

    private record Rank(int place, FlatView view, Scale onTheWayOut, DType grid) implements Reducer.Own {
        @Override
        public void read(int first, int count, Object block) {
            view.read(first, count, block, 1);
        }

        @Override
        public ByteBuffer direct(int first, int count) {
            return null;
        }

        @Override
        public boolean receives() {
            return true;
        }

        @Override
        public Scale scale() {
            return Scale.ONE;
        }

        @Override
        public void write(int first, int count, Object block) {
            view.write(first, count, block, onTheWayOut);
        }
    }

    @ParameterizedTest
    @CsvSource({"FLOAT16, 2, true", "FLOAT16, 3, true", "FLOAT16, 2, false", "FLOAT16, 3, false"})
    void sumsOfFloat16AreThoseOfTheScalarMethods(DType half, int ranks, boolean asFloats) {
        requireSums(half, ranks, asFloats);
    }

    @ParameterizedTest
    @CsvSource({"BFLOAT16, 2, true", "BFLOAT16, 3, true", "BFLOAT16, 2, false", "BFLOAT16, 3, false"})
    void sumsOfBfloat16AreThoseOfTheScalarMethods(DType half, int ranks, boolean asFloats) {
        requireSums(half, ranks, asFloats);
    }

    private static void requireSums(DType half, int ranks, boolean asFloats) {
        var random = new SplittableRandom(SEED);
        for (int run = 0; run < WARM_RUNS; run++) {
            requireSum(half, ranks, asFloats, new int[] {2048, 2048, 1, 700}, random.split());
        }
        for (int size : new int[] {0, 1, 2, 7, 127, 129, 2047, 2049, 5001}) {
            requireSum(half, ranks, asFloats, new int[] {size, 130, size, 3}, random.split());
        }
    }

    /** @param sizes of a tensor on the heap, a direct one, a split one and one of float64 */
    private static void requireSum(DType half, int ranks, boolean asFloats, int[] sizes, SplittableRandom random) {
        int count = IntStream.of(sizes).sum();
        DType staged = asFloats ? DType.FLOAT32 : half;
        Converter converter = new Converter();
        List<ByteBuffer> stages = new ArrayList<>();
        List<FlatView> views = new ArrayList<>();
        List<Tensor> last = List.of();
        float[] expected = new float[count];
        for (int rank = 0; rank < ranks; rank++) {
            List<Tensor> tensors = new ArrayList<>();
            int at = 0;
            for (int kind = 0; kind < sizes.length; kind++) {
                double[] values =
                        random.doubles(sizes[kind]).map(any -> any(random)).toArray();
                for (double value : values) {
                    float number = rounded(half, (float) value);
                    expected[at] = rank == 0 ? number : expected[at] + number;
                    at++;
                }
                tensors.add(tensor(kind, values));
            }
            FlatView view =
                    asFloats ? FlatView.rounded(tensors, half, converter) : new FlatView(tensors, half, converter);
            ByteBuffer stage = ByteBuffer.allocateDirect(count * staged.bytes()).order(ByteOrder.nativeOrder());
            view.pack(0, count, stage, 1);
            stages.add(stage);
            views.add(view);
            last = tensors;
        }
        Scale mean = new Scale(1, ranks);
        ByteBuffer target = ByteBuffer.allocateDirect(count * staged.bytes()).order(ByteOrder.nativeOrder());
        var own = new Rank(ranks - 1, views.get(ranks - 1), mean, asFloats ? half : null);
        int before = count / 3;
        new Reducer().reduce(ReduceOp.SUM, staged, stages, 0, before, target, own);
        new Reducer().reduce(ReduceOp.SUM, staged, stages, before, count - before, target, own);
        requireSame(last, expected, half, mean);
        views.get(0).unpack(0, count, target, mean);
        views.get(ranks - 1).unpack(0, count, target, mean);
        requireSame(last, expected, half, mean);
    }

    private static void requireSame(List<Tensor> found, float[] sums, DType half, Scale scale) {
        int at = 0;
        for (Tensor tensor : found) {
            Object array = tensor.toArray();
            for (int i = 0; i < tensor.elements(); i++, at++) {
                float sum = rounded(half, sums[at]);
                double expected = array instanceof double[] ? sum * scale.asFactor() : sum * (float) scale.asFactor();
                double is = array instanceof double[] wide ? wide[i] : ((float[]) array)[i];
                if (Double.doubleToLongBits(is) != Double.doubleToLongBits(expected)) {
                    assertThat(is).as("element %d of %d", i, tensor.elements()).isEqualTo(expected);
                }
            }
        }
    }
}
