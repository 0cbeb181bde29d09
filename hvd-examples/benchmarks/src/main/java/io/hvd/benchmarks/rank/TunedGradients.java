package io.hvd.benchmarks.rank;

import io.hvd.AllreduceOptions;
import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.PreparedAllreduce;
import io.hvd.tensor.Tensor;
import java.util.ArrayList;
import java.util.List;

/**
 * One rank that averages a set of gradients step after step until autotuning has ended on all ranks. Arguments: the name of
 * the set, and the most steps. To be started with {@code horovodrun --autotune}.
 */
public final class TunedGradients {
    private TunedGradients() {}

    public static void main(String[] args) {
        GradientSet gradients = GradientSet.named(args[0]);
        int mostSteps = Integer.parseInt(args[1]);
        try (HvdContext hvd = Hvd.init()) {
            float[] over = new float[1];
            PreparedAllreduce all = prepared(hvd, gradients, Tensor.of(over));
            int steps = 0;
            while (over[0] < 1 && steps < mostSteps) {
                over[0] = hvd.autotuneResult().isPresent() ? 1 : 0;
                all.start();
                all.await();
                steps++;
            }
            if (hvd.rank() == 0) {
                System.out.println(steps + " steps of " + gradients.name() + "; " + hvd.tunedSettings());
            }
        }
    }

    /** The gradients from the last layer on, and the average of whether autotuning is over. */
    private static PreparedAllreduce prepared(HvdContext hvd, GradientSet gradients, Tensor over) {
        List<String> names = new ArrayList<>();
        List<Tensor> tensors = new ArrayList<>();
        for (int i = gradients.elements().size() - 1; i >= 0; i--) {
            names.add("gradient." + i);
            tensors.add(Tensor.of(new float[gradients.elements().get(i)]));
        }
        names.add("over");
        tensors.add(over);
        return hvd.prepareAllreduce(names, tensors, AllreduceOptions.average());
    }
}
