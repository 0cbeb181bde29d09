package io.hvd.transformers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import io.hvd.error.HvdException;
import io.hvd.tensor.Tensor;
import java.util.List;
import java.util.SortedMap;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Device;
import org.bytedeco.pytorch.global.torch.DeviceType;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class DecoderTest {
    private static ModelConfig config(int keyValueHeads, boolean tied) {
        return new ModelConfig(
                ModelConfig.Architecture.LLAMA, 30, 24, 2, 4, keyValueHeads, 20, 16, 0, 1e-5, 10_000, tied, 0, 0.4);
    }

    /** The formulas of the papers in loops over double numbers. */
    private static final class Reference {
        private final ModelConfig config;
        private final SortedMap<String, Tensor> weights;

        Reference(ModelConfig config, SortedMap<String, Tensor> weights) {
            this.config = config;
            this.weights = weights;
        }

        private double[] dense(String name, double[] x) {
            float[] w = weights.get(name).toFloatArray();
            double[] y = new double[w.length / x.length];
            for (int row = 0; row < y.length; row++) {
                for (int i = 0; i < x.length; i++) {
                    y[row] += w[row * x.length + i] * x[i];
                }
            }
            return y;
        }

        private double[] norm(String name, double[] x) {
            float[] w = weights.get(name).toFloatArray();
            double squares = 0;
            for (double each : x) {
                squares += each * each;
            }
            double[] y = new double[x.length];
            for (int i = 0; i < x.length; i++) {
                y[i] = w[i] * x[i] / Math.sqrt(squares / x.length + config.normEpsilon());
            }
            return y;
        }

        /** Turns the pairs (i, i + half) of each head by place * theta^(-2i/size). */
        private void rotate(double[] x, int place) {
            int size = config.hidden() / config.heads();
            for (int head = 0; head < x.length / size; head++) {
                for (int i = 0; i < size / 2; i++) {
                    double angle = place * Math.pow(config.ropeTheta(), -2.0 * i / size);
                    int at = head * size + i;
                    double a = x[at];
                    double b = x[at + size / 2];
                    x[at] = a * Math.cos(angle) - b * Math.sin(angle);
                    x[at + size / 2] = b * Math.cos(angle) + a * Math.sin(angle);
                }
            }
        }

        double[][] scores(long[] ids) {
            int hidden = config.hidden();
            int size = hidden / config.heads();
            int group = config.heads() / config.keyValueHeads();
            float[] words = weights.get("model.embed_tokens.weight").toFloatArray();
            double[][] x = new double[ids.length][hidden];
            for (int t = 0; t < ids.length; t++) {
                for (int i = 0; i < hidden; i++) {
                    x[t][i] = words[(int) ids[t] * hidden + i];
                }
            }
            for (int layer = 0; layer < config.layers(); layer++) {
                String in = "model.layers." + layer + ".";
                double[][] q = new double[ids.length][];
                double[][] k = new double[ids.length][];
                double[][] v = new double[ids.length][];
                for (int t = 0; t < ids.length; t++) {
                    double[] h = norm(in + "input_layernorm.weight", x[t]);
                    q[t] = dense(in + "self_attn.q_proj.weight", h);
                    k[t] = dense(in + "self_attn.k_proj.weight", h);
                    v[t] = dense(in + "self_attn.v_proj.weight", h);
                    rotate(q[t], t);
                    rotate(k[t], t);
                }
                for (int t = ids.length - 1; t >= 0; t--) {
                    double[] found = new double[hidden];
                    for (int head = 0; head < config.heads(); head++) {
                        double[] p = new double[t + 1];
                        double sum = 0;
                        for (int s = 0; s <= t; s++) {
                            double dot = 0;
                            for (int i = 0; i < size; i++) {
                                dot += q[t][head * size + i] * k[s][head / group * size + i];
                            }
                            p[s] = Math.exp(dot / Math.sqrt(size));
                            sum += p[s];
                        }
                        for (int s = 0; s <= t; s++) {
                            for (int i = 0; i < size; i++) {
                                found[head * size + i] += p[s] / sum * v[s][head / group * size + i];
                            }
                        }
                    }
                    double[] attended = dense(in + "self_attn.o_proj.weight", found);
                    for (int i = 0; i < hidden; i++) {
                        x[t][i] += attended[i];
                    }
                    double[] h = norm(in + "post_attention_layernorm.weight", x[t]);
                    double[] gate = dense(in + "mlp.gate_proj.weight", h);
                    double[] up = dense(in + "mlp.up_proj.weight", h);
                    for (int i = 0; i < gate.length; i++) {
                        up[i] *= gate[i] / (1 + Math.exp(-gate[i]));
                    }
                    double[] down = dense(in + "mlp.down_proj.weight", up);
                    for (int i = 0; i < hidden; i++) {
                        x[t][i] += down[i];
                    }
                }
            }
            double[][] scores = new double[ids.length][];
            for (int t = 0; t < ids.length; t++) {
                scores[t] = dense(
                        config.isTied() ? "model.embed_tokens.weight" : "lm_head.weight",
                        norm("model.norm.weight", x[t]));
            }
            return scores;
        }
    }

    @ParameterizedTest
    @CsvSource({"4, false", "2, false", "1, true"})
    void scoresAreThoseOfTheFormulas(int keyValueHeads, boolean tied) {
        ModelConfig config = config(keyValueHeads, tied);
        Decoder decoder = new Decoder(config, 7);
        Reference reference = new Reference(config, decoder.weights());
        List<long[]> texts = List.of(new long[] {3, 1, 29, 12, 12, 8, 0}, new long[] {5, 6, 7});
        TokenBatch batch = TokenBatch.of(texts);
        Device cpu = new Device(DeviceType.CPU);
        try (PointerScope scope = new PointerScope()) {
            var found = decoder.scores(decoder.forward(batch.ids(cpu), batch.mask(cpu)))
                    .contiguous();
            assertThat(found.sizes().vec().get()).containsExactly(2, 7, 30);
            float[] values = new float[2 * 7 * 30];
            found.data_ptr_float().get(values);
            double loss = 0;
            int followed = 0;
            for (int row = 0; row < 2; row++) {
                double[][] expected = reference.scores(texts.get(row));
                for (int t = 0; t < expected.length; t++) {
                    for (int token = 0; token < 30; token++) {
                        assertThat((double) values[(row * 7 + t) * 30 + token])
                                .as("text %d, place %d, token %d", row, t, token)
                                .isCloseTo(expected[t][token], within(2e-5));
                    }
                    if (t + 1 < expected.length) {
                        double sum = 0;
                        for (double each : expected[t]) {
                            sum += Math.exp(each);
                        }
                        loss += Math.log(sum) - expected[t][(int) texts.get(row)[t + 1]];
                        followed++;
                    }
                }
            }
            assertThat((double) Sentences.nextTokenLoss(found, batch.ids(cpu), batch.mask(cpu))
                            .item_float())
                    .isCloseTo(loss / followed, within(1e-5));
        }
    }

    /** Newer versions of transformers write rotary positions into an object, and null for what is not set. */
    @Test
    void newerConfigsAreRead() {
        String json = config(4, false)
                .json()
                .replace(
                        "\"rope_theta\":10000.0",
                        "\"rope_parameters\": {\"rope_theta\": 500000.0, \"rope_type\": \"default\"},"
                                + " \"rope_scaling\": null, \"head_dim\": null")
                .replace("\"num_key_value_heads\":4", "\"num_key_value_heads\": null");
        ModelConfig read = ModelConfig.of(json);
        assertThat(read.ropeTheta()).isEqualTo(500_000);
        assertThat(read.keyValueHeads()).isEqualTo(4);
        assertThatThrownBy(() -> ModelConfig.of(json.replace("\"default\"", "\"llama3\"")))
                .isInstanceOf(HvdException.class)
                .hasMessageContainingAll("rope_type \"llama3\"", "default");
        assertThatThrownBy(() -> ModelConfig.of(json.replace("\"num_attention_heads\":4", "\"num_attention_heads\":0")))
                .isInstanceOf(HvdException.class)
                .hasMessageContaining("0 heads");
        assertThatThrownBy(
                        () -> ModelConfig.of(json.replace("\"num_attention_heads\":4", "\"num_attention_heads\":null")))
                .isInstanceOf(HvdException.class)
                .hasMessageContaining("no num_attention_heads");
    }

    @Test
    void configsThatAreNotKnownAreRefused() {
        String json = config(2, true).json();
        assertThat(ModelConfig.of(json)).isEqualTo(config(2, true));
        assertThatThrownBy(() -> ModelConfig.of(json.replace("\"silu\"", "\"relu\"")))
                .isInstanceOf(HvdException.class)
                .hasMessageContainingAll("hidden_act \"relu\"", "expected \"silu\"");
        assertThatThrownBy(() -> ModelConfig.of(json.replace("{", "{\"rope_scaling\": {\"type\": \"yarn\"}, ")))
                .hasMessageContainingAll("rope_scaling", "yarn");
        assertThatThrownBy(() -> ModelConfig.of(json.replace("\"llama\"", "\"gpt2\"")))
                .hasMessageContainingAll("model_type \"gpt2\"", "bert", "distilbert", "llama");
        assertThatThrownBy(() -> ModelConfig.of(json.replace("\"num_hidden_layers\":2,", "")))
                .hasMessageContainingAll("no num_hidden_layers", "a whole number");
        assertThatThrownBy(() -> ModelConfig.of("[1]")).hasMessageContaining("not a JSON object");
        assertThatThrownBy(() -> new Encoder(config(2, true), 0)).hasMessageContainingAll("LLAMA", "Decoder");
    }
}
