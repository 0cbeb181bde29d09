package io.hvd.optimizer;

import io.hvd.optimizer.arrays.ArrayBuffer;
import io.hvd.optimizer.arrays.ArrayConstants;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/**
 * RMSprop on plain arrays: every element's gradient is divided by the root of the running mean of its square (Hinton, "Neural Networks for
 * Machine Learning", lecture 6, 2012). The conventions and defaults are those of torch; there is no centered variant.
 */
public final class RmsProp extends ArrayOptimizer {
    private final double alpha;
    private final double epsilon;
    private final double momentum;
    private final double weightDecay;
    private final float[][] squares;
    private final float[][] velocity;

    /** With torch's settings: alpha 0.99, epsilon 1e-8, no momentum and no weight decay. */
    public RmsProp(ArrayParameters parameters, double learningRate) {
        this(parameters, learningRate, 0.99, 1e-8, 0, 0);
    }

    /**
     * RMSprop with these constants.
     *
     * @param alpha share of the running mean that stays in each step
     * @throws io.hvd.error.HvdException if alpha or the momentum is not at least 0 and less than 1, or one of the other
     *     numbers is negative or not finite
     */
    public RmsProp(
            ArrayParameters parameters,
            double learningRate,
            double alpha,
            double epsilon,
            double momentum,
            double weightDecay) {
        super(parameters, learningRate);
        ArrayConstants.requireShare("RmsProp", "alpha", alpha);
        ArrayConstants.requireNotNegative("RmsProp", "epsilon", epsilon);
        ArrayConstants.requireShare("RmsProp", "momentum", momentum);
        ArrayConstants.requireNotNegative("RmsProp", "weight decay", weightDecay);
        this.alpha = alpha;
        this.epsilon = epsilon;
        this.momentum = momentum;
        this.weightDecay = weightDecay;
        this.squares = zerosLike(parameters);
        this.velocity = momentum == 0 ? new float[0][] : zerosLike(parameters);
    }

    @Override
    void update(int index, float[] value, float[] gradient, long step) {
        float rate = (float) learningRate();
        float decay = (float) weightDecay;
        float kept = (float) alpha;
        float taken = (float) (1 - alpha);
        float[] mean = squares[index];
        float[] own = momentum == 0 ? null : velocity[index];
        for (int i = 0; i < value.length; i++) {
            float direction = gradient[i] + decay * value[i];
            mean[i] = kept * mean[i] + taken * direction * direction;
            direction /= (float) (Math.sqrt(mean[i]) + epsilon);
            if (own != null) {
                own[i] = (float) momentum * own[i] + direction;
                direction = own[i];
            }
            value[i] -= rate * direction;
        }
    }

    @Override
    Map<String, Double> constants() {
        return Map.of(
                "alpha", alpha,
                "epsilon", epsilon,
                "momentum", momentum,
                "weight decay", weightDecay);
    }

    @Override
    List<ArrayBuffer> kinds() {
        return momentum == 0 ? List.of(ArrayBuffer.SQUARES) : List.of(ArrayBuffer.SQUARES, ArrayBuffer.VELOCITY);
    }

    @Override
    List<float[]> buffers() {
        return Stream.of(squares, velocity).flatMap(Stream::of).toList();
    }
}
