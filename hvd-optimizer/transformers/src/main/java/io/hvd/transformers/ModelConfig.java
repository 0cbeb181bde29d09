package io.hvd.transformers;

import com.google.gson.Gson;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParseException;
import com.google.gson.JsonParser;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/**
 * The sizes of a transformer, as the {@code config.json} of a Hugging Face folder has them.
 *
 * @param vocabulary number of tokens
 * @param hidden numbers that stand for a token
 * @param heads of attention; they divide the hidden size
 * @param keyValueHeads heads that have keys and values of their own; fewer than {@code heads} in grouped-query attention
 * @param intermediate width of the inner dense layer
 * @param positions the most tokens of a text
 * @param tokenTypes kinds of segments that are told apart; 0 if none are
 * @param normEpsilon what norms add to a variance
 * @param ropeTheta base of the rotary embedding's wavelengths; of LLaMA alone
 * @param isTied whether the output layer is the embedding of tokens; of LLaMA alone
 * @param dropout probability with which a number is dropped in training
 * @param initialDeviation standard deviation of weights that are drawn
 * @see <a href="https://huggingface.co/docs/transformers/main_classes/configuration">the file</a>
 */
public record ModelConfig(
        Architecture architecture,
        int vocabulary,
        int hidden,
        int layers,
        int heads,
        int keyValueHeads,
        int intermediate,
        int positions,
        int tokenTypes,
        double normEpsilon,
        double ropeTheta,
        boolean isTied,
        double dropout,
        double initialDeviation) {
    private static final String MODEL_TYPE = "model_type";
    private static final double USUAL_DEVIATION = 0.02;
    private static final double USUAL_THETA = 10_000;
    private static final double BERT_EPSILON = 1e-12;
    private static final double LLAMA_EPSILON = 1e-6;
    private static final double BERT_DROPOUT = 0.1;
    private static final int BERT_POSITIONS = 512;
    private static final int BERT_TOKEN_TYPES = 2;
    private static final int LLAMA_POSITIONS = 2048;

    /** The kinds of transformers that hvd knows. */
    public enum Architecture {
        /** J. Devlin et al., "BERT", NAACL 2019. MiniLM is one. */
        BERT("bert", "BertModel"),
        /** V. Sanh et al., "DistilBERT", 2019: BERT without segments. */
        DISTILBERT("distilbert", "DistilBertModel"),
        /** H. Touvron et al., "LLaMA", 2023: rotary positions, RMS norms, SwiGLU, and grouped-query attention if asked for. */
        LLAMA("llama", "LlamaForCausalLM");

        private final String word;
        private final String className;

        Architecture(String word, String className) {
            this.word = word;
            this.className = className;
        }
    }

    /** @throws HvdException if sizes do not fit each other */
    public ModelConfig {
        if (vocabulary < 1 || hidden < 1 || layers < 1 || heads < 1 || intermediate < 1 || positions < 1) {
            throw bad("vocabulary " + vocabulary + ", hidden size " + hidden + ", " + layers + " layers, " + heads
                    + " heads, intermediate size " + intermediate + " and " + positions
                    + " positions, expected at least 1 of each");
        }
        if (hidden % heads != 0) {
            throw bad("hidden size " + hidden + " with " + heads + " heads, expected a multiple of the heads");
        }
        if (keyValueHeads < 1 || heads % keyValueHeads != 0) {
            throw bad(heads + " heads with " + keyValueHeads
                    + " heads of keys and values, expected a divisor of the heads");
        }
        if (architecture == Architecture.LLAMA && hidden / heads % 2 != 0) {
            throw bad("hidden size " + hidden + " with " + heads
                    + " heads, expected an even number for each head, since rotary positions turn pairs");
        }
    }

    private static HvdException bad(String what) {
        return new HvdException(ErrorId.BAD_ARGUMENT, "a transformer of " + what);
    }

    /**
     * Reads a {@code config.json}.
     *
     * @throws HvdException if it is none, or asks for what hvd does not have, such as another activation; the message names the field, the
     *     value found and those expected
     */
    public static ModelConfig of(String json) {
        Fields fields = new Fields(object(json));
        String type = fields.word(MODEL_TYPE, null);
        Architecture architecture = Arrays.stream(Architecture.values())
                .filter(each -> each.word.equals(type))
                .findFirst()
                .orElseThrow(() -> fields.refused(
                        MODEL_TYPE,
                        type,
                        "one of "
                                + Arrays.stream(Architecture.values())
                                        .map(each -> each.word)
                                        .toList()));
        return switch (architecture) {
            case BERT -> bert(fields);
            case DISTILBERT -> distilBert(fields);
            case LLAMA -> llama(fields);
        };
    }

    private static JsonObject object(String json) {
        try {
            return JsonParser.parseString(json).getAsJsonObject();
        } catch (JsonParseException | IllegalStateException e) {
            throw new HvdException(ErrorId.BAD_CHECKPOINT, "config.json is not a JSON object: " + e.getMessage(), e);
        }
    }

    private static ModelConfig bert(Fields fields) {
        fields.require("hidden_act", "gelu", "gelu");
        fields.require("position_embedding_type", "absolute", "absolute");
        int heads = fields.number("num_attention_heads");
        return new ModelConfig(
                Architecture.BERT,
                fields.number("vocab_size"),
                fields.number("hidden_size"),
                fields.number("num_hidden_layers"),
                heads,
                heads,
                fields.number("intermediate_size"),
                fields.number("max_position_embeddings", BERT_POSITIONS),
                fields.number("type_vocab_size", BERT_TOKEN_TYPES),
                fields.decimal("layer_norm_eps", BERT_EPSILON),
                0,
                false,
                fields.decimal("hidden_dropout_prob", BERT_DROPOUT),
                fields.decimal("initializer_range", USUAL_DEVIATION));
    }

    private static ModelConfig distilBert(Fields fields) {
        fields.require("activation", "gelu", "gelu");
        int heads = fields.number("n_heads");
        return new ModelConfig(
                Architecture.DISTILBERT,
                fields.number("vocab_size"),
                fields.number("dim"),
                fields.number("n_layers"),
                heads,
                heads,
                fields.number("hidden_dim"),
                fields.number("max_position_embeddings", BERT_POSITIONS),
                0,
                BERT_EPSILON,
                0,
                false,
                fields.decimal("dropout", BERT_DROPOUT),
                fields.decimal("initializer_range", USUAL_DEVIATION));
    }

    private static ModelConfig llama(Fields fields) {
        fields.require("hidden_act", "silu", "silu");
        fields.require("attention_bias", "false", "false");
        fields.require("mlp_bias", "false", "false");
        fields.require("rope_scaling", "null", "null");
        Fields rotary = fields.part("rope_parameters");
        rotary.require("rope_type", "default", "default");
        int heads = fields.number("num_attention_heads");
        int hidden = fields.number("hidden_size");
        int headSize = fields.number("head_dim", hidden / Math.max(1, heads));
        if (heads > 0 && headSize != hidden / heads) {
            throw fields.refused("head_dim", String.valueOf(headSize), "hidden_size / num_attention_heads");
        }
        return new ModelConfig(
                Architecture.LLAMA,
                fields.number("vocab_size"),
                hidden,
                fields.number("num_hidden_layers"),
                heads,
                fields.number("num_key_value_heads", heads),
                fields.number("intermediate_size"),
                fields.number("max_position_embeddings", LLAMA_POSITIONS),
                0,
                fields.decimal("rms_norm_eps", LLAMA_EPSILON),
                rotary.decimal("rope_theta", USUAL_THETA),
                Boolean.parseBoolean(fields.word("tie_word_embeddings", "false")),
                0,
                fields.decimal("initializer_range", USUAL_DEVIATION));
    }

    /** The {@code config.json} that {@link #of} reads, which other programs read too. */
    public String json() {
        JsonObject object = new JsonObject();
        object.addProperty(MODEL_TYPE, architecture.word);
        object.add("architectures", new Gson().toJsonTree(List.of(architecture.className)));
        object.addProperty("torch_dtype", "float32");
        object.addProperty("vocab_size", vocabulary);
        object.addProperty("max_position_embeddings", positions);
        object.addProperty("initializer_range", initialDeviation);
        switch (architecture) {
            case BERT -> {
                addWidths(object, "gelu");
                object.addProperty("type_vocab_size", tokenTypes);
                object.addProperty("layer_norm_eps", normEpsilon);
                object.addProperty("hidden_dropout_prob", dropout);
                object.addProperty("attention_probs_dropout_prob", dropout);
                object.addProperty("position_embedding_type", "absolute");
            }
            case DISTILBERT -> {
                object.addProperty("dim", hidden);
                object.addProperty("n_layers", layers);
                object.addProperty("n_heads", heads);
                object.addProperty("hidden_dim", intermediate);
                object.addProperty("activation", "gelu");
                object.addProperty("dropout", dropout);
            }
            case LLAMA -> {
                addWidths(object, "silu");
                object.addProperty("num_key_value_heads", keyValueHeads);
                object.addProperty("rms_norm_eps", normEpsilon);
                object.addProperty("rope_theta", ropeTheta);
                object.addProperty("tie_word_embeddings", isTied);
            }
        }
        return object + "\n";
    }

    private void addWidths(JsonObject object, String activation) {
        object.addProperty("hidden_size", hidden);
        object.addProperty("num_hidden_layers", layers);
        object.addProperty("num_attention_heads", heads);
        object.addProperty("intermediate_size", intermediate);
        object.addProperty("hidden_act", activation);
    }

    /** Typed access to the file, whose errors name the field. */
    private record Fields(JsonObject object) {
        String word(String name, String otherwise) {
            JsonElement found = object.get(name);
            return found == null ? otherwise : found.isJsonPrimitive() ? found.getAsString() : found.toString();
        }

        /** Whether the file gives a value; null stands for none. */
        boolean has(String name) {
            return object.has(name) && !object.get(name).isJsonNull();
        }

        /** Fields that newer files have in an object of their own. */
        Fields part(String name) {
            if (!has(name)) {
                return this;
            }
            if (!object.get(name).isJsonObject()) {
                throw refused(name, word(name, null), "an object");
            }
            return new Fields(object.getAsJsonObject(name));
        }

        /** A field that hvd knows one value of. */
        void require(String name, String otherwise, String expected) {
            String found = word(name, otherwise);
            if (!found.toLowerCase(Locale.ROOT).equals(expected)) {
                throw refused(name, found, "\"" + expected + "\"");
            }
        }

        int number(String name) {
            if (!has(name)) {
                throw refused(name, null, "a whole number");
            }
            return number(name, 0);
        }

        int number(String name, int otherwise) {
            try {
                return has(name) ? object.get(name).getAsInt() : otherwise;
            } catch (RuntimeException e) {
                throw refused(name, word(name, null), "a whole number");
            }
        }

        double decimal(String name, double otherwise) {
            try {
                return has(name) ? object.get(name).getAsDouble() : otherwise;
            } catch (RuntimeException e) {
                throw refused(name, word(name, null), "a number");
            }
        }

        HvdException refused(String name, String found, String expected) {
            return new HvdException(
                    ErrorId.BAD_CHECKPOINT,
                    "config.json has " + (found == null ? "no " + name : name + " \"" + found + "\"") + ", expected "
                            + expected);
        }
    }
}
