package io.hvd.examples.image;

/**
 * The result of an evaluation on the test images of all ranks together, each of which counts once.
 *
 * @param loss mean over the images
 * @param accuracy share of images whose class the model found
 * @param top5 share of images whose class was among the model's first five
 * @param samples number of images
 * @param distinct number of different ones
 */
record Evaluation(double loss, double accuracy, double top5, long samples, long distinct) {
    static final Evaluation NONE = new Evaluation(Double.NaN, Double.NaN, Double.NaN, 0, 0);
}
