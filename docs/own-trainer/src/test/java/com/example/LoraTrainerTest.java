package com.example;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.hvd.Hvd;
import io.hvd.train.Checkpoint;
import io.hvd.train.Training;
import io.hvd.transformers.Encoder;
import io.hvd.transformers.ModelConfig;
import io.hvd.transformers.PretrainedModel;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class LoraTrainerTest {
    private static final String[] WORDS = {"one", "two", "three", "four", "five", "six", "seven", "eight"};

    @TempDir
    Path folder;

    /** A small model whose tokenizer knows sixteen words. */
    private Path model() throws IOException {
        StringBuilder words = new StringBuilder("\"[UNK]\": 0");
        for (int i = 0; i < WORDS.length; i++) {
            words.append(", \"" + WORDS[i] + "\": " + (2 * i + 1) + ", \"" + i + "\": " + (2 * i + 2));
        }
        String json = "{\"version\": \"1.0\", \"truncation\": null, \"padding\": null, \"added_tokens\": [], \"normalizer\": null,"
                + " \"pre_tokenizer\": {\"type\": \"Whitespace\"}, \"post_processor\": null, \"decoder\": null,"
                + " \"model\": {\"type\": \"WordLevel\", \"unk_token\": \"[UNK]\", \"vocab\": {" + words + "}}}";
        var config = new ModelConfig(
                ModelConfig.Architecture.BERT, 17, 32, 2, 4, 4, 64, 64, 2, 1e-12, 0, false, 0, 0.3);
        var encoder = new Encoder(config, 5);
        Path place = folder.resolve("model");
        new PretrainedModel("small", config, json, encoder::weights).save(encoder, place);
        return place;
    }

    @Test
    void numbersFindTheirWords() throws IOException {
        Path model = model();
        List<String> lines = new ArrayList<>();
        for (int i = 0; i < 320; i++) {
            int first = i % 8;
            int second = i / 8 % 8;
            lines.add(first + " " + second + "\t" + WORDS[first] + " " + WORDS[second]);
        }
        Path pairs = Files.write(folder.resolve("pairs.tsv"), lines);
        Path adapter = folder.resolve("adapter");

        double before = loss(Hvd.spawn(2, hvd -> LoraTrainer.train(hvd, model, pairs, adapter, 1)));
        double after = loss(Hvd.spawn(2, hvd -> LoraTrainer.train(hvd, model, pairs, adapter, 12)));

        assertTrue(after < before / 2, "the loss fell from " + before + " to " + after);
        assertEquals(8, Checkpoint.read(adapter.resolve("adapter_model.safetensors")).tensors().size());
    }

    private static double loss(List<Training> ends) {
        assertEquals(ends.get(0).result("loss").mean(), ends.get(1).result("loss").mean());
        return ends.get(0).result("loss").mean();
    }
}
