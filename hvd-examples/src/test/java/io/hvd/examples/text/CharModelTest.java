package io.hvd.examples.text;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import io.hvd.examples.training.SeededModule;
import io.hvd.examples.training.TorchDevice;
import io.hvd.optimizer.torch.TorchRuntime;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Device;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.T_TensorTensor_T;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

class CharModelTest {
    private static final int LETTERS = 5;

    @BeforeAll
    static void load() {
        TorchRuntime.load();
    }

    /** The writer reads in this way, while the training reads whole windows. */
    @Test
    void readingCharacterByCharacterIsReadingAllAtOnce() {
        long[] characters = {3, 1, 4, 1, 0, 2, 2};
        CharModel model = SeededModule.seeded(1, () -> new CharModel(LETTERS, 8, 2));
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

    @Test
    void theWriterRemembersAllThatItHasWritten() {
        Text text = Text.of("edcbaabcd");
        CharModel model = SeededModule.seeded(2, () -> new CharModel(LETTERS, 8, 1));
        TorchDevice cpu = new TorchDevice(new Device(torch.DeviceType.CPU));
        CharWriter writer = new CharWriter(model, cpu, text, 3);
        long[] characters = {4, 0, 0, 3, 1, 2};
        float[] together;
        try (PointerScope scope = new PointerScope();
                NoGradGuard guard = new NoGradGuard()) {
            together = scores(model.forward(Tensor.create(characters, 1, characters.length)));
        }
        for (int i = 0; i < characters.length; i++) {
            float[] alone = writer.scoresAfter((int) characters[i]);
            for (int letter = 0; letter < LETTERS; letter++) {
                assertThat(alone[letter]).isCloseTo(together[i * LETTERS + letter], within(1e-5f));
            }
        }
        assertThat(new CharWriter(model, cpu, text, 3).write(30)).hasSize(30).matches("[a-e]*");
    }

    @Test
    void aClosedStateIsRefused() {
        CharModel model = SeededModule.seeded(1, () -> new CharModel(LETTERS, 8, 1));
        try (PointerScope scope = new PointerScope()) {
            Tensor one = Tensor.create(new long[] {1}, 1, 1);
            T_TensorTensor_T state = model.read(one, null).state();
            state.setNull();
            assertThatThrownBy(() -> model.read(one, state)).hasMessageContaining("the state is closed");
        }
    }

    private static float[] scores(Tensor scores) {
        float[] values = new float[Math.toIntExact(scores.numel())];
        scores.contiguous().data_ptr_float().get(values);
        return values;
    }
}
