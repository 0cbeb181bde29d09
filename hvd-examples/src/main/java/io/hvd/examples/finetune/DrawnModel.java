package io.hvd.examples.finetune;

import com.google.gson.JsonArray;
import com.google.gson.JsonNull;
import com.google.gson.JsonObject;
import io.hvd.transformers.Decoder;
import io.hvd.transformers.Encoder;
import io.hvd.transformers.ModelConfig;
import io.hvd.transformers.ModelConfig.Architecture;
import io.hvd.transformers.PretrainedModel;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** A small transformer whose weights are drawn, with a tokenizer that knows the frequent words of some texts. */
final class DrawnModel {
    private static final int MOST_WORDS = 8_000;
    private static final int HIDDEN = 64;
    private static final int LAYERS = 2;
    private static final int HEADS = 4;
    private static final Pattern BETWEEN_WORDS = Pattern.compile("\\W+", Pattern.UNICODE_CHARACTER_CLASS);
    private static final String UNKNOWN = "[UNK]";

    private DrawnModel() {}

    static PretrainedModel of(Task task, List<TextSample> texts, int longest, long seed) {
        Map<String, Integer> words = words(texts);
        boolean writes = task == Task.LM;
        ModelConfig config = new ModelConfig(
                writes ? Architecture.LLAMA : Architecture.BERT,
                words.size(),
                HIDDEN,
                LAYERS,
                HEADS,
                writes ? HEADS / 2 : HEADS,
                2 * HIDDEN,
                longest,
                writes ? 0 : 1,
                1e-6,
                10_000,
                false,
                0,
                0.05);
        return new PretrainedModel(
                "drawn weights",
                config,
                tokenizer(words),
                () -> (writes ? new Decoder(config, seed) : new Encoder(config, seed)).weights());
    }

    /** The most frequent words, with numbers. */
    private static Map<String, Integer> words(List<TextSample> texts) {
        Map<String, Long> counts = texts.stream()
                .flatMap(text ->
                        BETWEEN_WORDS.splitAsStream((text.text() + " " + text.second()).toLowerCase(Locale.ROOT)))
                .filter(word -> !word.isEmpty())
                .collect(Collectors.groupingBy(word -> word, TreeMap::new, Collectors.counting()));
        Map<String, Integer> numbers = new TreeMap<>(Map.of("[PAD]", 0, UNKNOWN, 1));
        counts.entrySet().stream()
                .sorted(Map.Entry.<String, Long>comparingByValue(Comparator.reverseOrder())
                        .thenComparing(Map.Entry.comparingByKey()))
                .limit(MOST_WORDS)
                .forEach(word -> numbers.put(word.getKey(), numbers.size()));
        return numbers;
    }

    /** In the format of Hugging Face's library: lower case, cut between words, a number for each. */
    private static String tokenizer(Map<String, Integer> words) {
        JsonObject vocabulary = new JsonObject();
        words.forEach(vocabulary::addProperty);
        JsonObject model = kind("WordLevel");
        model.add("vocab", vocabulary);
        model.addProperty("unk_token", UNKNOWN);
        JsonObject json = new JsonObject();
        json.addProperty("version", "1.0");
        json.add("added_tokens", new JsonArray());
        for (String none : List.of("truncation", "padding", "post_processor", "decoder")) {
            json.add(none, JsonNull.INSTANCE);
        }
        json.add("normalizer", kind("Lowercase"));
        json.add("pre_tokenizer", kind("Whitespace"));
        json.add("model", model);
        return new com.google.gson.GsonBuilder().serializeNulls().create().toJson(json);
    }

    private static JsonObject kind(String type) {
        JsonObject object = new JsonObject();
        object.addProperty("type", type);
        return object;
    }
}
