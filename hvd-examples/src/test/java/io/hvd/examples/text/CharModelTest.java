package io.hvd.examples.text;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import io.hvd.examples.training.SeededModule;
import io.hvd.examples.training.TorchDevice;
import io.hvd.optimizer.torch.TorchRuntime;
import io.hvd.optimizer.torch.TorchTensors;
import java.util.Arrays;
import java.util.stream.Stream;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Device;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.T_TensorTensor_T;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class CharModelTest {
    private static final int LETTERS = 5;
    private static final TorchDevice CPU = new TorchDevice(new Device(torch.DeviceType.CPU));

    @BeforeAll
    static void load() {
        TorchRuntime.load();
    }

    /** The writer reads in this way, while the training reads whole windows. */
    @Test
    void readingCharacterByCharacterIsReadingAllAtOnce() {
        long[] characters = {3, 1, 4, 1, 0, 2, 2};
        CharLstm model = SeededModule.seeded(1, () -> new CharLstm(LETTERS, 8, 2));
        try (PointerScope scope = new PointerScope();
                NoGradGuard guard = new NoGradGuard()) {
            float[] together = scores(model.forward(Tensor.create(characters, 1, characters.length)));
            T_TensorTensor_T state = null;
            for (int i = 0; i < characters.length; i++) {
                CharLstm.Read read = model.read(Tensor.create(new long[] {characters[i]}, 1, 1), state);
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

    private static Stream<CharModel> models() {
        TorchRuntime.load();
        return Stream.of(
                SeededModule.seeded(2, () -> new CharLstm(LETTERS, 8, 1)),
                SeededModule.seeded(2, () -> new CharTransformer(LETTERS, 6, 8, 2, 2)));
    }

    @ParameterizedTest
    @MethodSource("models")
    void theWriterRemembersAllThatItHasWritten(CharModel model) {
        Text text = Text.of("edcbaabcd");
        long[] characters = {4, 0, 0, 3, 1, 2};
        float[] together;
        try (PointerScope scope = new PointerScope();
                NoGradGuard guard = new NoGradGuard()) {
            together = scores(model.forward(Tensor.create(characters, 1, characters.length)));
        }
        try (CharReader reader = model.reader(CPU)) {
            for (int i = 0; i < characters.length; i++) {
                float[] alone = reader.scoresAfter((int) characters[i]);
                for (int letter = 0; letter < LETTERS; letter++) {
                    assertThat(alone[letter]).isCloseTo(together[i * LETTERS + letter], within(1e-5f));
                }
            }
        }
        assertThat(new CharWriter(model, CPU, text, 3).write(30)).hasSize(30).matches("[a-e]*");
    }

    /** A transformer's window moves on with what is read. */
    @Test
    void aTransformerReadsTheLastCharactersOfALongerText() {
        CharModel model = SeededModule.seeded(4, () -> new CharTransformer(LETTERS, 3, 8, 1, 2));
        CharReader reader = model.reader(CPU);
        for (int character : new int[] {4, 1, 0}) {
            reader.scoresAfter(character);
        }
        float[] afterLast = reader.scoresAfter(2);
        try (PointerScope scope = new PointerScope();
                NoGradGuard guard = new NoGradGuard()) {
            float[] window = scores(model.forward(Tensor.create(new long[] {1, 0, 2}, 1, 3)));
            assertThat(afterLast).containsExactly(Arrays.copyOfRange(window, 2 * LETTERS, 3 * LETTERS));
        }
    }

    /** The model must not see the next character before it predicts it, or the loss means nothing. */
    @ParameterizedTest
    @MethodSource("models")
    void theScoresOfACharacterDoNotDependOnThoseBehindIt(CharModel model) {
        try (PointerScope scope = new PointerScope();
                NoGradGuard guard = new NoGradGuard()) {
            float[] one = scores(model.forward(Tensor.create(new long[] {3, 1, 4, 0, 2, 2}, 2, 3)));
            float[] other = scores(model.forward(Tensor.create(new long[] {3, 1, 0, 0, 4, 2}, 2, 3)));

            for (int i = 0; i < 6; i++) {
                float[] before = Arrays.copyOfRange(one, i * LETTERS, (i + 1) * LETTERS);
                float[] after = Arrays.copyOfRange(other, i * LETTERS, (i + 1) * LETTERS);
                boolean sameSoFar = i < 2 || i == 3;
                assertThat(Arrays.equals(before, after)).as("place %d", i).isEqualTo(sameSoFar);
            }
        }
    }

    /**
     * Embeddings, for each block two norms, attention and the two dense layers, then norm and dense layer, with 65 letters,
     * 64 places and a width of 128.
     */
    @Test
    void theTransformersParametersAreThoseOfItsLayers() {
        CharModel model = SeededModule.seeded(1, () -> new CharTransformer(65, 64, 128, 2, 4));

        long parameters = TorchTensors.parameters(model).values().stream()
                .mapToLong(io.hvd.tensor.Tensor::elements)
                .sum();

        int block = 2 * 2 * 128 + (128 * 384 + 384) + (128 * 128 + 128) + (128 * 512 + 512) + (512 * 128 + 128);
        assertThat(parameters).isEqualTo((65 + 64) * 128 + 2 * block + 2 * 128 + (128 * 65 + 65));
    }

    @Test
    void aClosedStateIsRefused() {
        CharLstm model = SeededModule.seeded(1, () -> new CharLstm(LETTERS, 8, 1));
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
