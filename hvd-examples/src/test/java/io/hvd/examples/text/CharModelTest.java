package io.hvd.examples.text;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.hvd.examples.image.ImageClassifier;
import io.hvd.optimizer.torch.TorchRuntime;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.T_TensorTensor_T;
import org.bytedeco.pytorch.Tensor;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

class CharModelTest {
    private static final int LETTERS = 5;

    @BeforeAll
    static void load() {
        TorchRuntime.load();
    }

    /** So does the writer, while the training reads whole windows. */
    @Test
    void readingCharacterByCharacterIsReadingAllAtOnce() {
        long[] characters = {3, 1, 4, 1, 0, 2, 2};
        CharModel model = ImageClassifier.seeded(1, () -> new CharModel(LETTERS, 8, 2));
        try (PointerScope scope = new PointerScope();
                NoGradGuard guard = new NoGradGuard()) {
            float[] together = scores(model.forward(Tensor.create(characters, 1, characters.length)));
            T_TensorTensor_T state = null;
            for (int i = 0; i < characters.length; i++) {
                CharModel.Read read = model.read(Tensor.create(new long[] {characters[i]}, 1, 1), state);
                float[] alone = scores(read.scores());
                for (int letter = 0; letter < LETTERS; letter++) {
                    assertThat(alone[letter])
                            .as("character %d, letter %d", i, letter)
                            .isCloseTo(together[i * LETTERS + letter], within(1e-5f));
                }
                state = read.state();
            }
        }
    }

    private static float[] scores(Tensor scores) {
        float[] values = new float[Math.toIntExact(scores.numel())];
        scores.contiguous().data_ptr_float().get(values);
        return values;
    }
}
