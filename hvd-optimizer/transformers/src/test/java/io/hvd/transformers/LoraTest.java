package io.hvd.transformers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import io.hvd.error.HvdException;
import io.hvd.tensor.DType;
import io.hvd.tensor.Tensor;
import io.hvd.train.Checkpoint;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Device;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.global.torch.DeviceType;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class LoraTest {
    private static final TokenBatch BATCH = TokenBatch.of(List.of(new long[] {1, 2, 3, 4}, new long[] {5, 6}));
    private static final Device CPU = new Device(DeviceType.CPU);

    private static Encoder encoder() {
        return new Encoder(EncoderTest.tiny(ModelConfig.Architecture.BERT, 2), 1);
    }

    private static float[] sentences(Encoder encoder) {
        try (PointerScope scope = new PointerScope()) {
            var mask = BATCH.mask(CPU);
            var found = Sentences.normalised(Sentences.meanOf(encoder.forward(BATCH.ids(CPU), mask), mask))
                    .contiguous();
            float[] values = new float[(int) found.numel()];
            found.data_ptr_float().get(values);
            return values;
        }
    }

    private static void train(Encoder encoder) {
        SGD sgd = new SGD(encoder.trained(), new SGDOptions(0.5));
        for (int step = 0; step < 3; step++) {
            try (PointerScope scope = new PointerScope()) {
                sgd.zero_grad();
                encoder.forward(BATCH.ids(CPU), BATCH.mask(CPU))
                        .select(2, 0)
                        .sum()
                        .backward();
                sgd.step();
            }
        }
    }

    private static Map<String, List<Float>> lists(SortedMap<String, Tensor> weights) {
        Map<String, List<Float>> lists = new TreeMap<>();
        weights.forEach((name, value) -> {
            List<Float> list = new java.util.ArrayList<>();
            for (float each : value.toFloatArray()) {
                list.add(each);
            }
            lists.put(name, list);
        });
        return lists;
    }

    @Test
    void onlyAdaptersAreTrainedAndAMergeComputesTheSame(@TempDir Path folder) throws Exception {
        Encoder encoder = encoder();
        float[] untouched = sentences(encoder);
        var own = lists(encoder.weights());
        Lora lora = Lora.of(3, 6, "query", "output.dense");
        assertThat(lora.attach(encoder))
                .containsExactly(
                        "encoder.layer.0.attention.self.query",
                        "encoder.layer.1.attention.self.query",
                        "encoder.layer.0.attention.output.dense",
                        "encoder.layer.0.output.dense",
                        "encoder.layer.1.attention.output.dense",
                        "encoder.layer.1.output.dense");
        assertThat(encoder.trainableParameters()).isEqualTo(2 * (2 * 3 * (16 + 16) + 3 * (16 + 32)));
        assertThat(sentences(encoder)).isEqualTo(untouched);

        train(encoder);
        assertThat(lists(encoder.weights())).isEqualTo(own);
        float[] trained = sentences(encoder);
        assertThat(trained).isNotEqualTo(untouched);

        lora.save(encoder, folder, "tiny");
        Encoder other = encoder();
        assertThat(Lora.load(other, folder)).isEqualTo(lora);
        assertThat(sentences(other)).isEqualTo(trained);

        assertThat(Lora.merge(other)).isEqualTo(6);
        float[] merged = sentences(other);
        for (int i = 0; i < merged.length; i++) {
            assertThat(merged[i]).isCloseTo(trained[i], within(1e-5f));
        }
        Encoder fresh = encoder();
        fresh.load(other.weights());
        assertThat(sentences(fresh)).isEqualTo(merged);
    }

    @Test
    void theFilesHavePeftsNames(@TempDir Path folder) throws Exception {
        Encoder encoder = encoder();
        Lora lora = new Lora(2, 4, 0.1, List.of("value"));
        lora.attach(encoder);
        lora.save(encoder, folder, "tiny");
        SortedMap<String, Tensor> saved =
                Checkpoint.read(folder.resolve("adapter_model.safetensors")).tensors();
        assertThat(saved)
                .containsOnlyKeys(
                        "base_model.model.encoder.layer.0.attention.self.value.lora_A.weight",
                        "base_model.model.encoder.layer.0.attention.self.value.lora_B.weight",
                        "base_model.model.encoder.layer.1.attention.self.value.lora_A.weight",
                        "base_model.model.encoder.layer.1.attention.self.value.lora_B.weight");
        assertThat(saved.get(saved.firstKey()).shape().toArray()).containsExactly(2, 16);
        assertThat(Files.readString(folder.resolve("adapter_config.json")))
                .contains(
                        "\"peft_type\": \"LORA\"",
                        "\"r\": 2",
                        "\"lora_alpha\": 4.0",
                        "\"bias\": \"none\"",
                        "\"value\"");
    }

    /** As PEFT saves those of a BertForSequenceClassification. */
    @Test
    void adaptersOfAModelWithAHeadAreTaken(@TempDir Path folder) throws Exception {
        Encoder encoder = encoder();
        Lora lora = Lora.of(2, 4, "query");
        lora.attach(encoder);
        lora.save(encoder, folder, "tiny");
        SortedMap<String, Tensor> named = new TreeMap<>();
        Lora.weights(encoder).forEach((name, value) -> named.put("base_model.model.bert." + name, value));
        named.put("base_model.model.classifier.bias", Tensor.of(1f));
        new Checkpoint(named, Map.of()).write(folder.resolve("adapter_model.safetensors"));
        Encoder other = encoder();
        Lora.load(other, folder);
        assertThat(lists(Lora.weights(other))).isEqualTo(lists(Lora.weights(encoder)));
    }

    @Test
    void adaptersInSixteenBitsAreTaken(@TempDir Path folder) throws Exception {
        Encoder encoder = encoder();
        Lora lora = Lora.of(2, 4, "query");
        lora.attach(encoder);
        lora.save(encoder, folder, "tiny");
        SortedMap<String, Tensor> halves = new TreeMap<>();
        Lora.weights(encoder).forEach((name, value) -> {
            short[] bits = new short[(int) value.elements()];
            float[] numbers = value.toFloatArray();
            for (int i = 0; i < bits.length; i++) {
                bits[i] = (short) (Float.floatToIntBits(numbers[i]) >>> Short.SIZE);
            }
            halves.put("base_model.model." + name, Tensor.wrap(bits, DType.BFLOAT16, value.shape()));
        });
        new Checkpoint(halves, Map.of()).write(folder.resolve("adapter_model.safetensors"));
        Encoder other = encoder();
        Lora.load(other, folder);
        Lora.weights(other)
                .forEach((name, value) -> assertThat(value.toFloatArray())
                        .isEqualTo(halves.get("base_model.model." + name).toFloatArray()));
    }

    @Test
    void aMergedModelTakesNoAdapterAndFreezingTrainsNothingMore() {
        Encoder encoder = encoder();
        Lora lora = Lora.of(2, 4, "query");
        lora.attach(encoder);
        long adapters = encoder.trainableParameters();
        encoder.freeze(1);
        assertThat(encoder.trainableParameters()).isEqualTo(adapters / 2);
        Lora.merge(encoder);
        assertThatThrownBy(() -> lora.attach(encoder))
                .isInstanceOf(HvdException.class)
                .hasMessageContainingAll("layer.0.attention.self.query", "has an adapter already, which is merged");
    }

    @Test
    void whatDoesNotFitIsRefused(@TempDir Path folder) throws Exception {
        Encoder encoder = encoder();
        assertThatThrownBy(() -> Lora.of(2, 4, "q_proj").attach(encoder))
                .isInstanceOf(HvdException.class)
                .hasMessageContainingAll("q_proj", "BERT", "query", "dense");
        assertThatThrownBy(() -> Lora.of(0, 4, "query")).hasMessageContaining("rank 0");
        Lora lora = Lora.of(2, 4, "query");
        assertThatThrownBy(() -> lora.save(encoder, folder, "tiny")).hasMessageContaining("no adapters");
        lora.attach(encoder);
        assertThatThrownBy(() -> lora.attach(encoder)).hasMessageContainingAll("query", "has an adapter already");

        lora.save(encoder, folder, "tiny");
        Path config = folder.resolve("adapter_config.json");
        String text = Files.readString(config);
        Files.writeString(config, text.replace("\"query\"", "\"key\""));
        assertThatThrownBy(() -> Lora.load(encoder(), folder))
                .hasMessageContainingAll("lacks", "self.key.lora_A", "no place for", "self.query.lora_A");
        Files.writeString(config, text.replace("\"LORA\"", "\"LOHA\""));
        assertThatThrownBy(() -> Lora.load(encoder(), folder)).hasMessageContainingAll("peft_type \"LOHA\"", "LORA");
        Files.writeString(config, text.replace("\"r\": 2", "\"r\": 3"));
        assertThatThrownBy(() -> Lora.load(encoder(), folder)).hasMessageContainingAll("lora_A.weight", "3", "2");
        Files.writeString(config, text.replace("\"r\": 2,", "\"r\": 2, \"alpha_pattern\": {},"));
        Lora.load(encoder(), folder);
        Files.writeString(config, text.replace("\"r\": 2,", "\"r\": 2, \"alpha_pattern\": {\"layer.0\": 8},"));
        assertThatThrownBy(() -> Lora.load(encoder(), folder))
                .hasMessageContainingAll("alpha_pattern", "{\"layer.0\":8}", "expected \"{}\"");
        Files.writeString(config, text.replace("\"r\": 2,", ""));
        assertThatThrownBy(() -> Lora.load(encoder(), folder)).hasMessageContainingAll("r null", "two numbers");
    }
}
