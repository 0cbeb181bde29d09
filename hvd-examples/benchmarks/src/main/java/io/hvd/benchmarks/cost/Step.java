package io.hvd.benchmarks.cost;

import java.util.ArrayList;
import java.util.List;

/**
 * A training step of one rank: the time for which it computes, and the gradients that become ready during this time,
 * one after the other.
 *
 * <p>Gradients travel as in hvd's engine, in one operation at a time: gradients that have become ready during one
 * operation travel together in the next, up to the fusion threshold. Negotiation costs nothing, because ranks whose
 * steps repeat do not negotiate. The model leaves out the computing time that a rank without a free core loses to
 * communication.
 *
 * @param gradients the gradients in the order in which they become ready
 */
public record Step(double computeSeconds, List<Gradient> gradients) {
    public Step {
        gradients = List.copyOf(gradients);
    }

    /**
     * A step with gradients of equal size that become ready at equal intervals during backward.
     *
     * @param backwardShare the share of backward in the computing time
     * @param bytes size of all gradients together
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
     * The predicted times of a step.
     *
     * @param stepSeconds the time of the whole step
     * @param allreduceSeconds the time of all allreduces, including the part during the computing
     * @param exposedSeconds the time of communication after the computing has ended
     */
    public record Forecast(double stepSeconds, double allreduceSeconds, double exposedSeconds) {
        /** The share of the step in which a rank computes. */
        public double efficiency(double computeSeconds) {
            return computeSeconds / stepSeconds;
        }
    }

    /** Predicts the step in a job of this shape. @param fusionBytes the most bytes that travel together */
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
