package io.hvd.examples.text;

import io.hvd.examples.training.TorchDevice;
import java.util.Random;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.T_TensorTensor_T;
import org.bytedeco.pytorch.Tensor;

/** Has a model write: each character is drawn by the probabilities that the model gives after those before it. */
final class CharWriter {
    /** Probabilities are raised to the inverse of this, which makes what is likely likelier. */
    private static final double TEMPERATURE = 0.5;

    private final CharModel model;
    private final TorchDevice device;
    private final Text text;
    private final Random random;
    private T_TensorTensor_T state;

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
        for (int i = 0; i < characters; i++) {
            last = draw(scoresAfter(last));
            written[i] = last;
        }
        state.close();
        state = null;
        return text.decode(written);
    }

    /** Log-probabilities of what follows this character and all those before it. */
    float[] scoresAfter(int character) {
        try (PointerScope scope = new PointerScope();
                NoGradGuard guard = new NoGradGuard()) {
            CharModel.Read read = model.read(device.onto(Tensor.create(new long[] {character}, 1, 1)), state);
            // A pair of our own, since the model's belongs to what it has returned and ends with the scope. One
            // reference
            // more lets it outlive the scope; detaching it from the scope would free it.
            T_TensorTensor_T next =
                    new T_TensorTensor_T(read.state().get0(), read.state().get1()).retainReference();
            if (state != null) {
                state.close();
            }
            state = next;
            float[] scores = new float[text.alphabet().length()];
            read.scores().cpu().contiguous().data_ptr_float().get(scores);
            return scores;
        }
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
