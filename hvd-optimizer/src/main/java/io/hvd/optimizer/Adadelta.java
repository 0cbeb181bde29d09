package io.hvd.optimizer;

import io.hvd.optimizer.arrays.ArrayBuffer;
import io.hvd.optimizer.arrays.ArrayConstants;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/**
 * Adadelta on plain arrays: the running mean of the squared steps takes the place of a rate (Zeiler, "ADADELTA: An Adaptive Learning Rate
 * Method", 2012). The conventions and defaults are those of torch: the learning rate is a factor for the paper's step, usually 1.
 */
public final class Adadelta extends ArrayOptimizer {
    private final double rho;
    private final double epsilon;
    private final double weightDecay;
    private final float[][] squares;
    private final float[][] steps;

    /** With torch's settings: rho 0.9, epsilon 1e-6, no weight decay. */
    public Adadelta(ArrayParameters parameters, double learningRate) {
        this(parameters, learningRate, 0.9, 1e-6, 0);
    }

    /**
     * Adadelta with these constants.
     *
     * @param rho share of both running means that stays in each step
     * @throws io.hvd.error.HvdException if rho is not at least 0 and less than 1, epsilon is not positive, or the decay is negative
     */
    public Adadelta(ArrayParameters parameters, double learningRate, double rho, double epsilon, double weightDecay) {
        super(parameters, learningRate);
        ArrayConstants.requireShare("Adadelta", "rho", rho);
        ArrayConstants.requirePositive("Adadelta", "epsilon", epsilon);
        ArrayConstants.requireNotNegative("Adadelta", "weight decay", weightDecay);
        this.rho = rho;
        this.epsilon = epsilon;
        this.weightDecay = weightDecay;
        this.squares = zerosLike(parameters);
        this.steps = zerosLike(parameters);
    }

    @Override
    void update(int index, float[] value, float[] gradient, long step) {
        float rate = (float) learningRate();
        float decay = (float) weightDecay;
        float kept = (float) rho;
        float taken = (float) (1 - rho);
        float[] mean = squares[index];
        float[] before = steps[index];
        for (int i = 0; i < value.length; i++) {
            float direction = gradient[i] + decay * value[i];
            mean[i] = kept * mean[i] + taken * direction * direction;
            direction *= (float) (Math.sqrt(before[i] + epsilon) / Math.sqrt(mean[i] + epsilon));
            before[i] = kept * before[i] + taken * direction * direction;
            value[i] -= rate * direction;
        }
    }

    @Override
    Map<String, Double> constants() {
        return Map.of("rho", rho, "epsilon", epsilon, "weight decay", weightDecay);
    }

    @Override
    List<ArrayBuffer> kinds() {
        return List.of(ArrayBuffer.SQUARES, ArrayBuffer.SQUARED_STEPS);
    }

    @Override
    List<float[]> buffers() {
        return Stream.of(squares, steps).flatMap(Stream::of).toList();
    }
}
