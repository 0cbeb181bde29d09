package io.hvd.optimizer.torch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.hvd.HvdContext;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.tensor.Tensor;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Function;
import org.assertj.core.data.Offset;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Adam;
import org.bytedeco.pytorch.AdamW;
import org.bytedeco.pytorch.AdamWOptions;
import org.bytedeco.pytorch.Optimizer;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.TensorVector;

/** Trainings of a {@link ResidualModel}, fully sharded or whole, and what is compared of them. */
final class FullyShardRuns {
    static final Offset<Double> SAME = within(1e-6);
    static final int SAMPLES = 4;
    static final List<FullyShardOptions> STAGES = List.of(
            FullyShardOptions.zero3(),
            FullyShardOptions.zero2(),
            FullyShardOptions.zero3().withPrefetch(false));
    static final Function<TensorVector, Optimizer> ADAMW = share -> new AdamW(share, new AdamWOptions(0.01));
    static final List<Function<TensorVector, Optimizer>> KINDS =
            List.of(ADAMW, share -> new Adam(share, Models.adam(0.01)), share -> new SGD(share, Models.sgd(0.05)));

    private FullyShardRuns() {}

    /** What a training leaves: the losses of this rank and, on rank 0, the parameters. */
    record Trained(List<Double> losses, Map<String, double[]> parameters) {}

    /** How to train: passes before each step, and the largest norm. */
    record Way(int steps, int passes, double norm) {
        static final Way PLAIN = new Way(5, 1, 1e9);
    }

    static int sample(HvdContext hvd, int pass) {
        return SAMPLES * (pass * hvd.size() + hvd.rank());
    }

    static Trained whole(HvdContext hvd, ResidualModel model, Function<TensorVector, Optimizer> make, Way way) {
        DistributedOptimizer optimizer = DistributedOptimizer.wrap(
                        new TorchOptimizer(make.apply(model.parameters()), model.named_parameters()))
                .context(hvd)
                .backwardPassesPerStep(way.passes)
                .clipGradientNorm(way.norm)
                .build();
        List<Double> losses = new ArrayList<>();
        for (int step = 0; step < way.steps; step++) {
            optimizer.zeroGradients();
            for (int pass = 0; pass < way.passes; pass++) {
                try (PointerScope scope = new PointerScope()) {
                    int from = sample(hvd, step * way.passes + pass);
                    var loss = model.loss(from, from + SAMPLES);
                    losses.add(loss.item_double());
                    loss.backward();
                }
            }
            optimizer.step();
        }
        return new Trained(losses, doubles(StateDict.of(model)));
    }

    static Trained sharded(
            HvdContext hvd, FullyShard shard, ResidualModel model, Function<TensorVector, Optimizer> make, Way way) {
        var optimizer = shard.optimizer(make);
        return new Trained(steps(hvd, shard, model, optimizer, way, 0), doubles(shard.stateDict(0)));
    }

    static List<Double> steps(
            HvdContext hvd,
            FullyShard shard,
            ResidualModel model,
            io.hvd.optimizer.Optimizer optimizer,
            Way way,
            int firstStep) {
        List<Double> losses = new ArrayList<>();
        for (int step = firstStep; step < firstStep + way.steps; step++) {
            optimizer.zeroGradients();
            for (int pass = 0; pass < way.passes; pass++) {
                try (PointerScope scope = new PointerScope()) {
                    int from = sample(hvd, step * way.passes + pass);
                    var loss = model.loss(from, from + SAMPLES);
                    losses.add(loss.item_double());
                    shard.backward(loss);
                }
            }
            shard.clipGradNorm(way.norm);
            optimizer.step();
        }
        return losses;
    }

    static Map<String, double[]> doubles(Map<String, Tensor> state) {
        Map<String, double[]> doubles = new TreeMap<>();
        state.forEach((name, tensor) -> doubles.put(
                name, tensor.toArray() instanceof double[] already ? already : widened(tensor.toFloatArray())));
        return doubles;
    }

    static double[] widened(float[] floats) {
        double[] wide = new double[floats.length];
        Arrays.setAll(wide, i -> floats[i]);
        return wide;
    }

    static void assertSame(HvdContext hvd, Trained found, Trained expected, Offset<Double> offset) {
        assertThat(found.losses).hasSameSizeAs(expected.losses);
        for (int i = 0; i < found.losses.size(); i++) {
            assertThat(found.losses.get(i)).as("loss %d", i).isCloseTo(expected.losses.get(i), offset);
        }
        if (hvd.rank() == 0) {
            assertThat(found.parameters.keySet()).isEqualTo(expected.parameters.keySet());
            expected.parameters.forEach((name, values) ->
                    assertThat(found.parameters.get(name)).as(name).containsExactly(values, offset));
        } else {
            assertThat(found.parameters).isEmpty();
        }
    }

    static double distance(Map<String, double[]> one, Map<String, double[]> other) {
        double squares = 0;
        for (Map.Entry<String, double[]> each : one.entrySet()) {
            double[] others = other.get(each.getKey());
            for (int i = 0; i < others.length; i++) {
                squares += Math.pow(each.getValue()[i] - others[i], 2);
            }
        }
        return Math.sqrt(squares);
    }
}
