package io.hvd.benchmarks.cost;

import java.util.ArrayList;
import java.util.List;

/**
 * A training step of one rank: so long it computes, and meanwhile its gradients become ready, one after the other.
 *
 * <p>They travel as in hvd's engine: one operation at a time; what has become ready during one goes together in the next,
 * up to the fusion threshold. In steady state nothing is negotiated, so that costs nothing here. Neither does the
 * computing that communication takes from a rank which has no core to spare.
 *
 * @param gradients in the order in which they become ready
 */
public record Step(double computeSeconds, List<Gradient> gradients) {
    public Step {
        gradients = List.copyOf(gradients);
    }

    /**
     * Gradients of equal size that become ready at equal distances during backward.
     *
     * @param backwardShare of the computing
     * @param bytes of all of them
     */
    public static Step even(double computeSeconds, double backwardShare, long bytes, int tensors) {
        List<Gradient> gradients = new ArrayList<>();
        double backward = computeSeconds * backwardShare;
        for (int i = 1; i <= tensors; i++) {
            long size = bytes * i / tensors - bytes * (i - 1) / tensors;
            gradients.add(new Gradient(size, computeSeconds - backward + backward * i / tensors));
        }
        return new Step(computeSeconds, gradients);
    }

    /**
     * What a step takes when every rank does it with its own data.
     *
     * @param allreduceSeconds of everything, without anything to hide it behind
     * @param exposedSeconds of communication after the computing has ended
     */
    public record Forecast(double stepSeconds, double allreduceSeconds, double exposedSeconds) {
        /** The share of the step in which a rank gets on with its own work. */
        public double efficiency(double computeSeconds) {
            return computeSeconds / stepSeconds;
        }
    }

    /** The step in such a job. @param fusionBytes that travel together at most */
    public Forecast at(JobShape shape, CostModel model, long fusionBytes) {
        double free = 0;
        double busy = 0;
        for (int next = 0; next < gradients.size(); ) {
            double begin = Math.max(free, gradients.get(next).readySeconds());
            long together = gradients.get(next++).bytes();
            while (next < gradients.size()
                    && gradients.get(next).readySeconds() <= begin
                    && together + gradients.get(next).bytes() <= fusionBytes) {
                together += gradients.get(next++).bytes();
            }
            double takes = model.seconds(shape, together);
            free = begin + takes;
            busy += takes;
        }
        double end = Math.max(computeSeconds, free);
        return new Forecast(end, busy, end - computeSeconds);
    }
}
