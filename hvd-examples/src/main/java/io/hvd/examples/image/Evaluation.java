package io.hvd.examples.image;

/**
 * On the test images of all ranks together, each of them counted once.
 *
 * @param loss mean over the images
 * @param accuracy share of images whose class the model found
 * @param top5 share of images whose class was among the five likeliest
 * @param samples images behind these means
 */
record Evaluation(double loss, double accuracy, double top5, long samples) {
    static final Evaluation NONE = new Evaluation(Double.NaN, Double.NaN, Double.NaN, 0);
}
