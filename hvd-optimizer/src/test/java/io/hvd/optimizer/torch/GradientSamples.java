package io.hvd.optimizer.torch;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.ProcessSet;
import io.hvd.RankBody;
import java.util.List;
import java.util.function.IntToDoubleFunction;
import java.util.stream.IntStream;
import org.assertj.core.data.Offset;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.BoolOptional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorArrayRefOptional;
import org.bytedeco.pytorch.global.torch.ScalarType;

/**
 * Tensors and gradients of small whole numbers that depend on rank and element: exact in every type, but for the
 * division of an average.
 */
final class GradientSamples {
    private static final List<ScalarType> TYPES =
            List.of(ScalarType.Float, ScalarType.Double, ScalarType.Half, ScalarType.BFloat16);

    private GradientSamples() {}

    interface TypeBody {
        void run(ScalarType type) throws Exception;
    }

    static void eachType(TypeBody body) throws Exception {
        for (ScalarType type : TYPES) {
            try (PointerScope scope = new PointerScope()) {
                body.run(type);
            }
        }
    }

    /** Runs the body in one of two sets, that of the even ranks or that of the odd ones; one rank alone is the even. */
    static void inEvenAndOddRanks(io.hvd.HvdContext hvd, RankOfSetBody body) throws Exception {
        if (hvd.size() == 1) {
            body.run(hvd);
            return;
        }
        List<ProcessSet> sets = List.of(hvd.addProcessSet(everySecond(hvd, 0)), hvd.addProcessSet(everySecond(hvd, 1)));
        body.run(sets.get(hvd.rank() % 2));
        sets.forEach(hvd::removeProcessSet);
    }

    interface RankOfSetBody {
        void run(ProcessSet set) throws Exception;
    }

    /** Where a test's ranks come from: threads of this JVM, or the processes of the job that it runs in. */
    interface Ranks {
        void run(RankBody<?> body) throws Exception;
    }

    static Tensor leaf(ScalarType type, int rank, long... shape) {
        Tensor leaf = filled(type, i -> rank + 1 + i % 4, shape);
        leaf.requires_grad_(true);
        return leaf;
    }

    static Tensor filled(ScalarType type, IntToDoubleFunction value, long... shape) {
        int size = Math.toIntExact(io.hvd.tensor.Shape.of(shape).elements());
        return Tensor.create(IntStream.range(0, size).mapToDouble(value).toArray(), shape)
                .to(type);
    }

    /** The gradient that a rank's loss has for an element of a collective's output. */
    static double weight(int rank, int element) {
        return (rank + 1) * (1 + element % 3);
    }

    /** Runs backward from one output, with this rank's weights as its gradient. */
    static void backward(Tensor output, int rank) {
        Tensor gradient = filled(
                output.scalar_type().intern(),
                i -> weight(rank, i),
                output.sizes().vec().get());
        output.backward(gradient, new BoolOptional(), false, new TensorArrayRefOptional());
    }

    static double total(ProcessSet set, int element) {
        return set.ranks().stream().mapToDouble(rank -> weight(rank, element)).sum();
    }

    static double mean(ProcessSet set, int element) {
        return total(set, element) / set.size();
    }

    static void assertGradient(Tensor input, IntToDoubleFunction expected) {
        assertValues(input.grad(), expected);
        assertThat(input.grad().sizes().vec().get())
                .isEqualTo(input.sizes().vec().get());
        assertThat(input.grad().scalar_type().intern())
                .isEqualTo(input.scalar_type().intern());
    }

    static void assertValues(Tensor tensor, IntToDoubleFunction expected) {
        float[] actual = Models.floats(tensor.detach().contiguous());
        ScalarType type = tensor.scalar_type().intern();
        double tolerance = type == ScalarType.Half || type == ScalarType.BFloat16 ? 1e-2 : 1e-6;
        for (int i = 0; i < actual.length; i++) {
            double wanted = expected.applyAsDouble(i);
            assertThat((double) actual[i])
                    .as("element %d, %s", i, type)
                    .isCloseTo(wanted, Offset.offset(tolerance * Math.max(1, Math.abs(wanted))));
        }
    }

    private static List<Integer> everySecond(ProcessSet all, int first) {
        return all.ranks().stream().filter(rank -> rank % 2 == first).toList();
    }
}
