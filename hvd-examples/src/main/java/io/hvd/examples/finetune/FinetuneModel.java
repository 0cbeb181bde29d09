package io.hvd.examples.finetune;

import io.hvd.HvdContext;
import io.hvd.error.HvdException;
import io.hvd.examples.training.SeededModule;
import io.hvd.examples.training.TorchDevice;
import io.hvd.optimizer.torch.StateDict;
import io.hvd.tensor.Tensor;
import io.hvd.train.Checkpoint;
import io.hvd.transformers.Decoder;
import io.hvd.transformers.Encoder;
import io.hvd.transformers.Lora;
import io.hvd.transformers.ModelConfig.Architecture;
import io.hvd.transformers.PretrainedModel;
import io.hvd.transformers.Transformer;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import org.apache.commons.cli.ParseException;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.Module;

/** The transformer with what the task adds to it, and which of its parameters are trained. */
final class FinetuneModel {
    /** The module of the transformer. */
    static final String TRANSFORMER = "model";

    private static final String HEAD = "head";

    private final FinetuneOptions options;
    private final PretrainedModel files;
    private final Transformer transformer;
    private final Module all = new Module();
    private final Objective objective;

    /** @throws ParseException if the task does not fit the kind of the model */
    FinetuneModel(HvdContext hvd, FinetuneOptions options, PretrainedModel files, int labels, TorchDevice device)
            throws IOException, ParseException {
        this.options = options;
        this.files = files;
        requireFit();
        boolean writes = options.task() == Task.LM;
        this.transformer = writes ? files.decoder() : files.encoder();
        LinearImpl head = SeededModule.seeded(
                options.seed(), () -> new LinearImpl(files.config().hidden(), Math.max(1, labels)));
        freeze();
        all.register_module(TRANSFORMER, transformer.module());
        if (options.task() == Task.CLASSIFY) {
            all.register_module(HEAD, head);
        }
        device.onto(all);
        transformer.seedDropout(options.seed() + hvd.rank());
        this.objective = switch (options.task()) {
            case CLASSIFY -> new Objective.Classification((Encoder) transformer, head, device.device());
            case PAIRS -> new Objective.Pairs((Encoder) transformer, hvd, device.device());
            case LM -> new Objective.LanguageModel((Decoder) transformer, device.device());
        };
    }

    private void requireFit() throws ParseException {
        boolean writes = files.config().architecture() == Architecture.LLAMA;
        if (writes != (options.task() == Task.LM)) {
            throw new ParseException("--task " + options.task().word() + " of a model of the kind "
                    + files.config().architecture() + ", expected "
                    + (writes ? "lm" : "classify or pairs; lm needs a LLAMA"));
        }
        int layers = files.config().layers();
        String frozen = options.frozen() == Integer.MAX_VALUE ? "all" : String.valueOf(options.frozen());
        if (options.frozen() >= layers && options.task() != Task.CLASSIFY) {
            throw new ParseException("--freeze " + frozen + " leaves nothing to train for --task "
                    + options.task().word());
        }
        if (options.frozen() > layers && options.frozen() < Integer.MAX_VALUE) {
            throw new ParseException("--freeze " + frozen + " of a model of " + layers + " layers, expected at most "
                    + layers + ", or all");
        }
    }

    private void freeze() throws ParseException {
        try {
            options.lora().ifPresent(lora -> withTargets(lora).attach(transformer));
        } catch (HvdException e) {
            throw new ParseException("--lora-targets: " + e.getMessage());
        }
        if (options.frozen() >= 0) {
            transformer.freeze(Math.min(options.frozen(), files.config().layers()));
        }
    }

    /** The layers of queries and values, unless flags name others. */
    private Lora withTargets(Lora lora) {
        List<String> targets =
                switch (files.config().architecture()) {
                    case BERT -> List.of("query", "value");
                    case DISTILBERT -> List.of("q_lin", "v_lin");
                    case LLAMA -> List.of("q_proj", "v_proj");
                };
        return lora.targets().equals(List.of("*"))
                ? new Lora(lora.rank(), lora.alpha(), lora.dropout(), targets)
                : lora;
    }

    Transformer transformer() {
        return transformer;
    }

    /** All parameters, the head's too. */
    Module module() {
        return all;
    }

    Objective objective() {
        return objective;
    }

    String inWords() {
        return String.format(
                java.util.Locale.ROOT,
                "%s from %s: %,d of %,d parameters are trained, and %s",
                files.config().architecture(),
                files.source(),
                transformer.trainableParameters(),
                transformer.allParameters(),
                options.task() == Task.CLASSIFY ? "a head" : "no head");
    }

    /** Rank 0 calls it, at the end. */
    void save(Path folder) throws IOException {
        if (options.lora().isPresent() && !options.merge()) {
            withTargets(options.lora().get()).save(transformer, folder, files.source());
        } else {
            Lora.merge(transformer);
            files.save(transformer, folder);
        }
        saveHead(StateDict.of(all), folder);
    }

    /** The same with values that no module has, as where ranks have shards. */
    void save(SortedMap<String, Tensor> values, Path folder) throws IOException {
        SortedMap<String, Tensor> weights = new TreeMap<>();
        String prefix = TRANSFORMER + ".";
        values.tailMap(prefix).forEach((name, value) -> {
            if (name.startsWith(prefix)) {
                weights.put(name.substring(prefix.length()), value);
            }
        });
        files.save(weights, folder);
        saveHead(values, folder);
    }

    private void saveHead(SortedMap<String, Tensor> values, Path folder) throws IOException {
        if (options.task() == Task.CLASSIFY) {
            SortedMap<String, Tensor> head = new TreeMap<>(values);
            head.keySet().removeIf(name -> !name.startsWith(HEAD + "."));
            new Checkpoint(head, Map.of()).write(folder.resolve("head.safetensors"));
        }
    }
}
