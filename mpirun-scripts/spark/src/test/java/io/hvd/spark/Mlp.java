package io.hvd.spark;

import io.hvd.HvdContext;
import io.hvd.optimizer.Adam;
import io.hvd.optimizer.ArrayParameters;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.spark.columns.ColumnBatch;
import java.nio.ByteBuffer;
import java.util.Random;
import java.util.function.Function;

/** A net with one hidden layer of ReLUs and a softmax over ten classes, on arrays: executors have it without a library. */
final class Mlp {
    static final int CLASSES = 10;
    private static final int HIDDEN = 128;
    private static final double RATE = 1e-3;

    private final int pixels;
    private final float scale;
    /** By pixel, then by hidden unit. */
    private final float[] first;

    private final float[] firstBias = new float[HIDDEN];
    /** By hidden unit, then by class. */
    private final float[] second;

    private final float[] secondBias = new float[CLASSES];
    private final float[] firstGradient;
    private final float[] firstBiasGradient = new float[HIDDEN];
    private final float[] secondGradient;
    private final float[] secondBiasGradient = new float[CLASSES];

    /** @param scale by which pixels are multiplied */
    Mlp(int pixels, float scale) {
        this.pixels = pixels;
        this.scale = scale;
        Random random = new Random(7);
        first = random(random, pixels * HIDDEN, pixels);
        second = random(random, HIDDEN * CLASSES, HIDDEN);
        firstGradient = new float[first.length];
        secondGradient = new float[second.length];
    }

    private static float[] random(Random random, int length, int inputs) {
        float[] values = new float[length];
        for (int i = 0; i < length; i++) {
            values[i] = (float) (random.nextGaussian() * Math.sqrt(2.0 / inputs));
        }
        return values;
    }

    static Mlp load(byte[] bytes) {
        ByteBuffer from = ByteBuffer.wrap(bytes);
        Mlp mlp = new Mlp(from.getInt(), from.getFloat());
        for (float[] values : mlp.weights()) {
            from.asFloatBuffer().get(values);
            from.position(from.position() + Float.BYTES * values.length);
        }
        return mlp;
    }

    byte[] save() {
        int floats = first.length + HIDDEN + second.length + CLASSES;
        ByteBuffer into = ByteBuffer.allocate(Float.BYTES * (2 + floats));
        into.putInt(pixels).putFloat(scale);
        for (float[] values : weights()) {
            into.asFloatBuffer().put(values);
            into.position(into.position() + Float.BYTES * values.length);
        }
        return into.array();
    }

    private float[][] weights() {
        return new float[][] {first, firstBias, second, secondBias};
    }

    /**
     * Steps of Adam on the averages over all ranks of the gradients of each batch.
     *
     * @param epoch each iteration over it is an epoch
     */
    <B> void train(HvdContext hvd, int epochs, Iterable<B> epoch, Function<B, Batch> arrays) {
        ArrayParameters parameters = new ArrayParameters()
                .add("first", first, firstGradient)
                .add("first bias", firstBias, firstBiasGradient)
                .add("second", second, secondGradient)
                .add("second bias", secondBias, secondBiasGradient);
        try (DistributedOptimizer optimizer = DistributedOptimizer.wrap(new Adam(parameters, RATE))
                .context(hvd)
                .build()) {
            for (int i = 0; i < epochs; i++) {
                for (B one : epoch) {
                    Batch batch = arrays.apply(one);
                    optimizer.zeroGradients();
                    addGradients(batch.pixels, batch.labels);
                    optimizer.step();
                }
            }
        }
    }

    /** @param pixels of all rows, one row after the other */
    record Batch(float[] pixels, int[] labels) {
        static Batch of(ColumnBatch batch) {
            return new Batch(batch.floats("pixels"), batch.ints("label"));
        }
    }

    private void addGradients(float[] batch, int[] labels) {
        float[] hidden = new float[HIDDEN];
        float[] backward = new float[HIDDEN];
        for (int row = 0; row < labels.length; row++) {
            float[] errors = probabilities(batch, row, hidden);
            errors[labels[row]] -= 1;
            for (int c = 0; c < CLASSES; c++) {
                errors[c] /= labels.length;
                secondBiasGradient[c] += errors[c];
            }
            for (int h = 0; h < HIDDEN; h++) {
                float sum = 0;
                for (int c = 0; c < CLASSES; c++) {
                    secondGradient[h * CLASSES + c] += errors[c] * hidden[h];
                    sum += errors[c] * second[h * CLASSES + c];
                }
                backward[h] = hidden[h] > 0 ? sum : 0;
                firstBiasGradient[h] += backward[h];
            }
            for (int p = 0; p < pixels; p++) {
                float pixel = batch[row * pixels + p] * scale;
                if (pixel != 0) {
                    for (int h = 0; h < HIDDEN; h++) {
                        firstGradient[p * HIDDEN + h] += pixel * backward[h];
                    }
                }
            }
        }
    }

    private float[] probabilities(float[] batch, int row, float[] hidden) {
        System.arraycopy(firstBias, 0, hidden, 0, HIDDEN);
        for (int p = 0; p < pixels; p++) {
            float pixel = batch[row * pixels + p] * scale;
            if (pixel != 0) {
                for (int h = 0; h < HIDDEN; h++) {
                    hidden[h] += pixel * first[p * HIDDEN + h];
                }
            }
        }
        float[] scores = secondBias.clone();
        for (int h = 0; h < HIDDEN; h++) {
            hidden[h] = Math.max(0, hidden[h]);
            for (int c = 0; c < CLASSES; c++) {
                scores[c] += hidden[h] * second[h * CLASSES + c];
            }
        }
        return softmax(scores);
    }

    private static float[] softmax(float[] scores) {
        float most = scores[best(scores)];
        float sum = 0;
        for (int c = 0; c < CLASSES; c++) {
            scores[c] = (float) Math.exp(scores[c] - most);
            sum += scores[c];
        }
        for (int c = 0; c < CLASSES; c++) {
            scores[c] /= sum;
        }
        return scores;
    }

    private static int best(float[] scores) {
        int best = 0;
        for (int c = 1; c < CLASSES; c++) {
            best = scores[c] > scores[best] ? c : best;
        }
        return best;
    }

    /** The most probable class of each row. */
    int[] classes(float[] batch) {
        int[] classes = new int[batch.length / pixels];
        float[] hidden = new float[HIDDEN];
        for (int row = 0; row < classes.length; row++) {
            classes[row] = best(probabilities(batch, row, hidden));
        }
        return classes;
    }

    /** The share of the rows whose most probable class is the label. */
    double accuracy(Batch all) {
        int[] found = classes(all.pixels);
        int right = 0;
        for (int row = 0; row < found.length; row++) {
            right += found[row] == all.labels[row] ? 1 : 0;
        }
        return right / (double) found.length;
    }
}
