package io.hvd.benchmarks.rank;

import io.hvd.AllreduceOptions;
import io.hvd.Handle;
import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.optimizer.ArrayParameters;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.optimizer.Sgd;
import io.hvd.tensor.Tensor;
import java.util.ArrayList;
import java.util.List;

/**
 * One rank that averages a set of gradients step after step, from the last layer on, until autotuning has ended on all
 * ranks. Arguments: the name of the set, the most steps, the milliseconds of a backward that leaves the cores idle,
 * as one on a GPU does, 0 for none, and {@code optimizer} if a DistributedOptimizer hands the gradients over in groups. To be
 * started with {@code horovodrun --autotune}.
 */
public final class TunedGradients {
    /** Parts of backward, after each of which the gradients of its layers are submitted. */
    private static final int PARTS = 8;

    private final HvdContext hvd;
    private final long pauseMillis;
    private final List<float[]> gradients;
    private final List<Tensor> tensors;
    /** Null if each gradient is handed over by itself. */
    private final DistributedOptimizer optimizer;
    /** True if autotuning is over, on average over the ranks. */
    private final float[] over = new float[1];

    private TunedGradients(HvdContext hvd, GradientSet set, long backwardMillis, boolean inGroups) {
        this.hvd = hvd;
        this.pauseMillis = backwardMillis / PARTS;
        this.gradients = set.elements().stream().map(float[]::new).toList();
        this.tensors = gradients.stream().map(Tensor::of).toList();
        this.optimizer = inGroups ? optimizer() : null;
    }

    /** Its gradients are averaged, and it is never stepped. */
    private DistributedOptimizer optimizer() {
        ArrayParameters parameters = new ArrayParameters();
        for (int i = 0; i < gradients.size(); i++) {
            float[] gradient = gradients.get(i);
            parameters.add("parameter." + i, new float[gradient.length], gradient);
        }
        return DistributedOptimizer.wrap(new Sgd(parameters, 0.1)).context(hvd).build();
    }

    public static void main(String[] args) {
        GradientSet set = GradientSet.named(args[0]);
        int mostSteps = Integer.parseInt(args[1]);
        try (HvdContext hvd = Hvd.init()) {
            TunedGradients rank = new TunedGradients(
                    hvd, set, Long.parseLong(args[2]), args.length > 3 && args[3].equals("optimizer"));
            int steps = 0;
            while (rank.over[0] < 1 && steps < mostSteps) {
                rank.step();
                steps++;
            }
            if (hvd.rank() == 0) {
                System.out.println(steps + " steps of " + set.name() + "; " + hvd.tunedSettings());
            }
        }
    }

    private void step() {
        List<Handle> handles = new ArrayList<>();
        int layers = gradients.size();
        for (int i = layers - 1; i >= 0; i--) {
            if (i % (layers / PARTS + 1) == 0) {
                PlaceInJob.pause(pauseMillis);
            }
            if (optimizer != null) {
                optimizer.gradientReady(i);
            } else {
                handles.add(average("gradient." + i, tensors.get(i)));
            }
        }
        over[0] = hvd.autotuneResult().isPresent() ? 1 : 0;
        handles.add(average("over", Tensor.of(over)));
        if (optimizer != null) {
            optimizer.synchronize();
        }
        handles.forEach(Handle::synchronize);
    }

    private Handle average(String name, Tensor tensor) {
        return hvd.allreduceInPlaceAsync(name, tensor, AllreduceOptions.average());
    }
}
