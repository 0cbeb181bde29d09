package io.hvd.examples.cuda;

/**
 * Adam's numbers in one step (Kingma and Ba, ICLR 2015). The biases of mean and square are corrected here once, not in
 * every thread of the kernel.
 */
record AdamRates(float rate, float unbias, float beta1, float beta2, float epsilon) {
    private static final double BETA1 = 0.9;
    private static final double BETA2 = 0.999;
    private static final double EPSILON = 1e-8;

    /** @param step number of the step, from 1 */
    static AdamRates at(long step, double learningRate) {
        return new AdamRates(
                (float) (learningRate / (1 - Math.pow(BETA1, step))),
                (float) (1 / Math.sqrt(1 - Math.pow(BETA2, step))),
                (float) BETA1,
                (float) BETA2,
                (float) EPSILON);
    }
}
