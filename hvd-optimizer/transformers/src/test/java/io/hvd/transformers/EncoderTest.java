package io.hvd.transformers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import ai.onnxruntime.OnnxTensor;
import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtSession;
import io.hvd.error.HvdException;
import io.hvd.tensor.Tensor;
import java.io.InputStream;
import java.nio.LongBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.zip.ZipFile;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Device;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.global.torch.DeviceType;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class EncoderTest {
    private static final List<String> TEXTS = List.of(
            "A gradient is averaged over all ranks.",
            "The quick brown fox jumps over the lazy dog, twice!",
            "Zürich",
            "42");

    private static float[] vectorsOf(Encoder encoder, TokenBatch batch) {
        Device cpu = new Device(DeviceType.CPU);
        encoder.module().train(false);
        try (PointerScope scope = new PointerScope();
                NoGradGuard guard = new NoGradGuard()) {
            var found = encoder.forward(batch.ids(cpu), batch.mask(cpu)).contiguous();
            float[] values = new float[(int) found.numel()];
            found.data_ptr_float().get(values);
            return values;
        }
    }

    private static TokenBatch batch(PretrainedModel files) {
        try (TextTokenizer tokenizer = files.tokenizer(128)) {
            return TokenBatch.of(tokenizer.encode(TEXTS));
        }
    }

    private static float[] onnxRuntime(TokenBatch batch) throws Exception {
        byte[] model;
        try (ZipFile zip = new ZipFile(MiniLm.jar().toFile());
                InputStream in = zip.getInputStream(zip.getEntry("all-minilm-l6-v2.onnx"))) {
            model = in.readAllBytes();
        }
        long[] shape = {batch.rows(), batch.length()};
        OrtEnvironment environment = OrtEnvironment.getEnvironment();
        try (OrtSession session = environment.createSession(model);
                OnnxTensor ids = OnnxTensor.createTensor(environment, LongBuffer.wrap(batch.ids()), shape);
                OnnxTensor mask = OnnxTensor.createTensor(environment, LongBuffer.wrap(batch.mask()), shape);
                OnnxTensor types =
                        OnnxTensor.createTensor(environment, LongBuffer.wrap(new long[batch.ids().length]), shape);
                OrtSession.Result result =
                        session.run(Map.of("input_ids", ids, "attention_mask", mask, "token_type_ids", types))) {
            OnnxTensor found = (OnnxTensor) result.get(0);
            float[] values = new float[found.getFloatBuffer().remaining()];
            found.getFloatBuffer().get(values);
            return values;
        }
    }

    /** What stands at padding is not compared: the two may compute anything there. */
    private static void assertEqual(float[] found, float[] expected, TokenBatch batch, int hidden, double most) {
        assertThat(found).hasSameSizeAs(expected);
        for (int place = 0; place < batch.mask().length; place++) {
            for (int i = 0; batch.mask()[place] == 1 && i < hidden; i++) {
                assertThat(found[place * hidden + i])
                        .as("token %d, number %d", place, i)
                        .isCloseTo(expected[place * hidden + i], within((float) most));
            }
        }
    }

    @Test
    void miniLmComputesWhatOnnxRuntimeComputesOfTheSameFile() throws Exception {
        PretrainedModel files = MiniLm.files();
        TokenBatch batch = batch(files);
        assertThat(batch.ids()).startsWith(101, 1037, 17978); // [CLS] a gradient
        assertEqual(vectorsOf(files.encoder(), batch), onnxRuntime(batch), batch, 384, 1e-5);
    }

    @Test
    void whatIsSavedIsReadAgainAsOneFileOrAsSeveral(@TempDir Path folder) throws Exception {
        PretrainedModel files = MiniLm.files();
        TokenBatch batch = batch(files);
        Encoder encoder = files.encoder();
        files.save(encoder, folder);

        PretrainedModel saved = PretrainedModel.at(folder);
        assertThat(saved.config()).isEqualTo(files.config());
        assertThat(vectorsOf(saved.encoder(), batch)).isEqualTo(vectorsOf(encoder, batch));

        SortedMap<String, Tensor> all = encoder.weights();
        SortedMap<String, Tensor> first = new TreeMap<>(all.headMap("encoder.layer.3"));
        SortedMap<String, Tensor> second = new TreeMap<>(all.tailMap("encoder.layer.3"));
        new io.hvd.train.Checkpoint(first, Map.of()).write(folder.resolve("model-00001-of-00002.safetensors"));
        new io.hvd.train.Checkpoint(second, Map.of()).write(folder.resolve("model-00002-of-00002.safetensors"));
        Files.delete(folder.resolve("model.safetensors"));
        StringBuilder index =
                new StringBuilder("{\"weight_map\": {\"nowhere.weight\": \"model-00001-of-00002.safetensors\"");
        all.keySet()
                .forEach(name -> index.append(", \"" + name + "\": \"model-0000" + (first.containsKey(name) ? 1 : 2)
                        + "-of-00002.safetensors\""));
        Path file = folder.resolve("model.safetensors.index.json");
        Files.writeString(file, index + "}}");
        assertThatThrownBy(() -> PretrainedModel.at(folder).encoder())
                .isInstanceOf(HvdException.class)
                .hasMessageContainingAll("nowhere.weight", "model-00001-of-00002.safetensors", "no such tensor");
        Files.writeString(
                file, (index + "}}").replace("\"nowhere.weight\": \"model-00001-of-00002.safetensors\", ", ""));
        assertThat(vectorsOf(PretrainedModel.at(folder).encoder(), batch)).isEqualTo(vectorsOf(encoder, batch));

        Encoder other = new Encoder(files.config(), 7);
        PretrainedModel.at(folder).save(other, folder);
        assertThat(vectorsOf(PretrainedModel.at(folder).encoder(), batch)).isEqualTo(vectorsOf(other, batch));
    }

    /** A tokenizer without special tokens makes none of a text of blanks. */
    @Test
    void aTextWithoutTokensHasNoVectorAndNoGradient() {
        Encoder encoder = new Encoder(tiny(ModelConfig.Architecture.BERT, 2), 1);
        try (PointerScope scope = new PointerScope()) {
            var vectors = encoder.sentences(TokenBatch.of(List.of(new long[] {1, 2}, new long[0])));
            assertThat(vectors.select(0, 1).abs().sum().item_double()).isZero();
            vectors.select(1, 0).sum().backward();
            var trained = encoder.trained();
            for (long i = 0; i < trained.size(); i++) {
                assertThat(trained.get(i).grad().abs().sum().item_double()).isFinite();
            }
        }
    }

    /** DistilBERT is BERT without segments: with the segment's vector in the words' it computes the same. */
    @Test
    void distilBertComputesWhatBertComputesWithOneSegment() {
        ModelConfig bert = tiny(ModelConfig.Architecture.BERT, 1);
        Encoder one = new Encoder(bert, 3);
        SortedMap<String, Tensor> weights = one.weights();
        float[] segment =
                weights.remove("embeddings.token_type_embeddings.weight").toFloatArray();
        float[] words = weights.get("embeddings.word_embeddings.weight").toFloatArray();
        for (int i = 0; i < words.length; i++) {
            words[i] += segment[i % bert.hidden()];
        }
        weights.put(
                "embeddings.word_embeddings.weight",
                Tensor.wrap(
                        words,
                        io.hvd.tensor.DType.FLOAT32,
                        weights.get("embeddings.word_embeddings.weight").shape()));
        SortedMap<String, Tensor> renamed = new TreeMap<>();
        weights.forEach((name, value) -> renamed.put("distilbert." + distilled(name), value));
        renamed.put("pre_classifier.bias", Tensor.of(1f));

        Encoder other = new Encoder(tiny(ModelConfig.Architecture.DISTILBERT, 0), 4);
        assertThat(other.load(renamed)).isEmpty();
        TokenBatch batch = TokenBatch.of(List.of(new long[] {1, 2, 3, 4}, new long[] {5, 6}));
        assertEqual(vectorsOf(other, batch), vectorsOf(one, batch), batch, bert.hidden(), 1e-5);
    }

    private static String distilled(String name) {
        return name.replace("encoder.layer", "transformer.layer")
                .replace("attention.self.query", "attention.q_lin")
                .replace("attention.self.key", "attention.k_lin")
                .replace("attention.self.value", "attention.v_lin")
                .replace("attention.output.dense", "attention.out_lin")
                .replace("attention.output.LayerNorm", "sa_layer_norm")
                .replace("intermediate.dense", "ffn.lin1")
                .replace("output.dense", "ffn.lin2")
                .replace("output.LayerNorm", "output_layer_norm");
    }

    static ModelConfig tiny(ModelConfig.Architecture architecture, int segments) {
        return new ModelConfig(architecture, 40, 16, 2, 4, 4, 32, 24, segments, 1e-12, 0, false, 0, 0.5);
    }

    @Test
    void aFileThatDoesNotFitIsRefusedAndNothingIsChanged() {
        Encoder encoder = new Encoder(tiny(ModelConfig.Architecture.BERT, 2), 1);
        SortedMap<String, Tensor> weights = encoder.weights();
        SortedMap<String, Tensor> before = encoder.weights();
        weights.put("embeddings.LayerNorm.weight", Tensor.of(new float[16]));
        Tensor taken = weights.remove("encoder.layer.1.output.dense.bias");
        assertThatThrownBy(() -> encoder.load(weights))
                .isInstanceOf(HvdException.class)
                .hasMessageContainingAll("lacks 1 of the 37", "encoder.layer.1.output.dense.bias");
        weights.put("encoder.layer.1.output.dense.bias", Tensor.of(new float[15]));
        assertThatThrownBy(() -> encoder.load(weights))
                .isInstanceOf(HvdException.class)
                .hasMessageContainingAll("encoder.layer.1.output.dense.bias", "15", "16");
        assertThat(encoder.weights().get("embeddings.LayerNorm.weight").toFloatArray())
                .isEqualTo(before.get("embeddings.LayerNorm.weight").toFloatArray());
        weights.put("encoder.layer.1.output.dense.bias", taken);
        weights.put("adapter.weight", Tensor.of(1f));
        assertThat(encoder.load(weights)).containsExactly("adapter.weight");
    }

    @Test
    void oldNamesOfNormsAndSixteenBitsAreTaken() {
        Encoder encoder = new Encoder(tiny(ModelConfig.Architecture.BERT, 2), 1);
        encoder.module().to(org.bytedeco.pytorch.global.torch.ScalarType.BFloat16, false);
        SortedMap<String, Tensor> old = new TreeMap<>();
        encoder.weights()
                .forEach((name, value) -> old.put(
                        "bert."
                                + name.replace("LayerNorm.weight", "LayerNorm.gamma")
                                        .replace("LayerNorm.bias", "LayerNorm.beta"),
                        value));
        Encoder other = new Encoder(tiny(ModelConfig.Architecture.BERT, 2), 2);
        other.load(old);
        encoder.module().to(org.bytedeco.pytorch.global.torch.ScalarType.Float, false);
        assertThat(other.weights().keySet()).isEqualTo(encoder.weights().keySet());
        other.weights()
                .forEach((name, value) -> assertThat(value.toFloatArray())
                        .as(name)
                        .isEqualTo(encoder.weights().get(name).toFloatArray()));
    }

    @Test
    void frozenLayersAreNotTrained() {
        Encoder encoder = new Encoder(tiny(ModelConfig.Architecture.BERT, 2), 1);
        long all = encoder.trainableParameters();
        assertThat(all).isEqualTo(encoder.allParameters());
        encoder.freeze(1);
        long oneLayer = 4 * (16 * 16 + 16) + 2 * 2 * 16 + (16 * 32 + 32) + (32 * 16 + 16);
        assertThat(encoder.trainableParameters()).isEqualTo(oneLayer);
        encoder.freeze(2);
        assertThat(encoder.trainableParameters()).isZero();
        assertThatThrownBy(() -> encoder.freeze(3)).hasMessageContainingAll("freeze(3)", "2 layers");
    }
}
