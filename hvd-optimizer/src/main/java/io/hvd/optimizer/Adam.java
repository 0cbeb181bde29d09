package io.hvd.optimizer;

import io.hvd.optimizer.arrays.Moments;

/** Adam on plain arrays (Kingma and Ba, "Adam: A Method for Stochastic Optimization", ICLR 2015), with bias correction. */
public final class Adam extends MomentsOptimizer {
    /** With the paper's settings: beta1 0.9, beta2 0.999, epsilon 1e-8. */
    public Adam(ArrayParameters parameters, double learningRate) {
        this(parameters, learningRate, 0.9, 0.999, 1e-8);
    }

    /**
     * Adam with these constants.
     *
     * @throws io.hvd.error.HvdException if a beta is not at least 0 and less than 1, or the rate or epsilon is negative or not finite
     */
    public Adam(ArrayParameters parameters, double learningRate, double beta1, double beta2, double epsilon) {
        super(parameters, learningRate, new Moments("Adam", parameters.list(), beta1, beta2, epsilon));
    }

    @Override
    void update(int index, float[] value, float[] gradient, long step) {
        moments.step(index, value, gradient, step, learningRate());
    }
}
