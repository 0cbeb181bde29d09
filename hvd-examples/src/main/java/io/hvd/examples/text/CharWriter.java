package io.hvd.examples.text;

import io.hvd.examples.training.TorchDevice;
import java.util.Random;

/** Lets a model write: each character is drawn by the probabilities that the model gives after those before it. */
final class CharWriter {
    /** Probabilities are raised to the inverse of this, which makes what is likely likelier. */
    private static final double TEMPERATURE = 0.5;

    private final CharModel model;
    private final TorchDevice device;
    private final Text text;
    private final Random random;

    CharWriter(CharModel model, TorchDevice device, Text text, long seed) {
        this.model = model;
        this.device = device;
        this.text = text;
        this.random = new Random(seed);
    }

    /** Begins behind the first character of the text. */
    String write(int characters) {
        int[] written = new int[characters];
        int last = text.places()[0];
        try (CharReader reader = model.reader(device)) {
            for (int i = 0; i < characters; i++) {
                last = draw(reader.scoresAfter(last));
                written[i] = last;
            }
        }
        return text.decode(written);
    }

    private int draw(float[] scores) {
        double[] weights = new double[scores.length];
        double sum = 0;
        for (int i = 0; i < scores.length; i++) {
            weights[i] = Math.exp(scores[i] / TEMPERATURE);
            sum += weights[i];
        }
        double left = random.nextDouble() * sum;
        for (int i = 0; i < weights.length; i++) {
            left -= weights[i];
            if (left < 0) {
                return i;
            }
        }
        return weights.length - 1;
    }
}
