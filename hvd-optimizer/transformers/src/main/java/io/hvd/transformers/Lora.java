package io.hvd.transformers;

import com.google.gson.GsonBuilder;
import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.torch.StateDict;
import io.hvd.tensor.DType;
import io.hvd.tensor.Tensor;
import io.hvd.train.Checkpoint;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.NoGradGuard;

/**
 * Low-rank adapters (E. Hu et al., "LoRA", 2021): a transformer's own weights stay as they are, and beside each chosen dense layer with
 * weight W a product of two narrow matrices is trained, W + alpha / rank * B A. A is drawn as in PEFT, B begins with zeros, so that the
 * model begins as it was.
 *
 * <pre>{@code
 * Lora.of(8, 16, "query", "value").attach(encoder);
 * ...
 * Lora.save(encoder, Path.of("adapter"));
 * }</pre>
 *
 * @param rank rows of A
 * @param alpha the factor of the product, times the rank
 * @param dropout probability with which an input of A is dropped in training
 * @param targets last parts of names of dense layers, such as {@code query}, or whole names
 */
public record Lora(int rank, double alpha, double dropout, List<String> targets) {
    static final String A = "lora_A";
    static final String B = "lora_B";
    private static final String PREFIX = "base_model.model.";
    private static final String WEIGHTS = "adapter_model.safetensors";
    private static final String CONFIG = "adapter_config.json";

    /** @throws HvdException if the rank is not positive, the dropout no probability, or there is no target */
    public Lora {
        targets = List.copyOf(targets);
        if (rank < 1 || !(dropout >= 0 && dropout < 1) || !Double.isFinite(alpha) || targets.isEmpty()) {
            throw new HvdException(
                    ErrorId.BAD_ARGUMENT,
                    "Lora of rank " + rank + ", alpha " + alpha + ", dropout " + dropout + " and targets " + targets
                            + ", expected a rank of at least 1, a finite alpha, a dropout from 0 to below 1, and a target");
        }
    }

    /** Adapters without dropout. */
    public static Lora of(int rank, double alpha, String... targets) {
        return new Lora(rank, alpha, 0, Arrays.asList(targets));
    }

    /**
     * Freezes all parameters of the model and adds adapters, which are trained. Call it before an optimizer is made.
     *
     * @return the names of the dense layers that have one
     * @throws HvdException if a target names no dense layer, or one that has an adapter already; nothing is changed then
     */
    public List<String> attach(Transformer model) {
        List<Projection> chosen = new ArrayList<>();
        for (String target : targets) {
            List<Projection> found = model.projections().values().stream()
                    .filter(each ->
                            each.module().equals(target) || each.module().endsWith("." + target))
                    .toList();
            if (found.isEmpty()) {
                throw new HvdException(
                        ErrorId.BAD_ARGUMENT,
                        "the target \"" + target + "\" of Lora is no dense layer of this "
                                + model.config().architecture() + ", expected some of "
                                + lastParts(model.projections().keySet()));
            }
            chosen.addAll(found);
        }
        chosen.stream()
                .filter(each -> model.tree().parameter(nameOf(each, A)) != null)
                .findFirst()
                .ifPresent(adapted -> {
                    throw new HvdException(
                            ErrorId.BAD_ARGUMENT,
                            "the layer \"" + adapted.module() + "\" has an adapter already"
                                    + (adapted.adapter().isPresent() ? "" : ", which is merged")
                                    + "; merge it, and give another one to a new model with these weights");
                });
        model.freezeAll();
        chosen.stream().distinct().forEach(layer -> adapt(model, layer));
        return chosen.stream().map(Projection::module).distinct().toList();
    }

    private static List<String> lastParts(Set<String> names) {
        return names.stream()
                .map(name -> name.substring(name.lastIndexOf('.') + 1))
                .distinct()
                .toList();
    }

    private static String nameOf(Projection layer, String matrix) {
        return layer.module() + "." + matrix + ".weight";
    }

    private void adapt(Transformer model, Projection layer) {
        try (PointerScope scope = new PointerScope()) {
            long outputs = layer.weight().size(0);
            long inputs = layer.weight().size(1);
            // Kaiming's bound for a gain of 1/sqrt(3), as PEFT and torch's dense layers draw
            var a = model.uniform(nameOf(layer, A), 1 / Math.sqrt(inputs), rank, inputs);
            var b = model.constant(nameOf(layer, B), 0, outputs, rank);
            layer.adapter(new Adapter(a, b, alpha / rank, model.dropout(dropout)));
        }
    }

    /** The adapters' matrices by name, such as {@code encoder.layer.0.attention.self.query.lora_A.weight}: copies. */
    public static SortedMap<String, Tensor> weights(Transformer model) {
        SortedMap<String, Tensor> all = StateDict.of(model.module());
        all.keySet().removeIf(name -> !Transformer.isAdapter(name));
        return all;
    }

    /**
     * Writes the adapters in PEFT's format, {@code adapter_model.safetensors} and {@code adapter_config.json}. One rank does it.
     *
     * @param folder is made if it is missing
     * @param base the name or folder of the model below them, for whoever reads the file
     * @throws HvdException if the model has no adapters
     * @see <a href="https://huggingface.co/docs/peft/developer_guides/checkpoint">the format</a>
     */
    public void save(Transformer model, Path folder, String base) throws IOException {
        SortedMap<String, Tensor> named = new TreeMap<>();
        weights(model).forEach((name, value) -> named.put(PREFIX + name, value));
        if (named.isEmpty()) {
            throw new HvdException(ErrorId.BAD_ARGUMENT, "the model has no adapters to save in " + folder);
        }
        Files.createDirectories(folder);
        new Checkpoint(named, Map.of("format", "pt")).write(folder.resolve(WEIGHTS));
        JsonObject config = new JsonObject();
        config.addProperty("peft_type", "LORA");
        config.addProperty("task_type", model instanceof Decoder ? "CAUSAL_LM" : "FEATURE_EXTRACTION");
        config.addProperty("base_model_name_or_path", base);
        config.addProperty("r", rank);
        config.addProperty("lora_alpha", alpha);
        config.addProperty("lora_dropout", dropout);
        JsonArray modules = new JsonArray();
        targets.forEach(modules::add);
        config.add("target_modules", modules);
        config.addProperty("bias", "none");
        config.addProperty("fan_in_fan_out", false);
        config.addProperty("inference_mode", true);
        Files.writeString(
                folder.resolve(CONFIG),
                new GsonBuilder().setPrettyPrinting().create().toJson(config) + "\n");
    }

    /**
     * Adds the adapters that a folder has to a model without any, and freezes the model's own weights.
     *
     * @param folder of PEFT's format; numbers in 16 bits become float32, and what belongs to a head is left out
     * @throws HvdException if the file is no such adapter, has what hvd lacks, or does not fit the model
     */
    public static Lora load(Transformer model, Path folder) throws IOException {
        Lora lora = read(folder.resolve(CONFIG));
        SortedMap<String, Tensor> named = new TreeMap<>();
        Checkpoint.read(folder.resolve(WEIGHTS)).tensors().forEach((name, value) -> {
            String own = model.ownName(name.startsWith(PREFIX) ? name.substring(PREFIX.length()) : name);
            if (!model.isOfAHead(own)) {
                named.put(own, wide(value));
            }
        });
        lora.attach(model);
        Set<String> expected = weights(model).keySet();
        if (!named.keySet().equals(expected)) {
            Set<String> missing = new java.util.TreeSet<>(expected);
            missing.removeAll(named.keySet());
            Set<String> unexpected = new java.util.TreeSet<>(named.keySet());
            unexpected.removeAll(expected);
            throw new HvdException(
                    ErrorId.BAD_CHECKPOINT,
                    folder + " does not fit the model: it lacks " + missing + ", and the model has no place for "
                            + unexpected);
        }
        StateDict.load(model.module(), named, false);
        return lora;
    }

    /** In float32, which adapters are trained in. */
    private static Tensor wide(Tensor value) {
        return value.dtype() == DType.FLOAT32 ? value : Tensor.wrap(value.toFloatArray(), DType.FLOAT32, value.shape());
    }

    private static Lora read(Path file) throws IOException {
        JsonObject config;
        try {
            config = JsonParser.parseString(Files.readString(file)).getAsJsonObject();
        } catch (RuntimeException e) {
            throw new HvdException(ErrorId.BAD_CHECKPOINT, file + " is not a JSON object: " + e.getMessage(), e);
        }
        require(file, config, "peft_type", "LORA");
        require(file, config, "bias", "none");
        for (String other : List.of("use_dora", "use_rslora", "fan_in_fan_out")) {
            require(file, config, other, "false");
        }
        for (String perLayer : List.of("rank_pattern", "alpha_pattern")) {
            require(file, config, perLayer, "{}");
        }
        List<String> targets = new ArrayList<>();
        try {
            for (JsonElement target : config.getAsJsonArray("target_modules")) {
                targets.add(target.getAsString());
            }
            return new Lora(
                    config.get("r").getAsInt(),
                    config.get("lora_alpha").getAsDouble(),
                    config.has("lora_dropout") ? config.get("lora_dropout").getAsDouble() : 0,
                    targets);
        } catch (NullPointerException | ClassCastException | IllegalStateException | NumberFormatException e) {
            throw new HvdException(
                    ErrorId.BAD_CHECKPOINT,
                    file + " has r " + config.get("r") + ", lora_alpha " + config.get("lora_alpha")
                            + " and target_modules " + config.get("target_modules")
                            + ", expected two numbers and an array of names",
                    e);
        }
    }

    private static void require(Path file, JsonObject config, String name, String expected) {
        JsonElement found = config.get(name);
        if (found == null || found.isJsonNull()) {
            return;
        }
        String word = found.isJsonPrimitive() ? found.getAsString() : found.toString();
        if (!word.equals(expected)) {
            throw new HvdException(
                    ErrorId.BAD_CHECKPOINT, file + " has " + name + " \"" + word + "\", expected \"" + expected + "\"");
        }
    }

    /**
     * Adds each adapter's product to its layer's weight, so that the model computes the same without adapters. Their parameters stay in
     * the module, without use: save {@link Transformer#weights()} and begin anew with them.
     *
     * @return how many layers have changed
     */
    public static int merge(Transformer model) {
        int merged = 0;
        for (Projection layer : model.projections().values()) {
            if (layer.adapter().isEmpty()) {
                continue;
            }
            try (PointerScope scope = new PointerScope();
                    NoGradGuard guard = new NoGradGuard()) {
                layer.weight().add_(layer.adapter().get().product());
            }
            layer.adapter(null);
            merged++;
        }
        return merged;
    }
}
