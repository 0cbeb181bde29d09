package com.example;

import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.data.DataLoader;
import io.hvd.data.Dataset;
import io.hvd.data.LoadBalancingDistributedSampler;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.optimizer.torch.TorchOptimizer;
import io.hvd.train.BroadcastState;
import io.hvd.train.Training;
import io.hvd.train.TrainingLoop;
import io.hvd.transformers.*;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.IntStream;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.*;

/** Adapts a sentence encoder to pairs of texts that belong together: LoraTrainer MODEL PAIRS.tsv ADAPTER */
final class LoraTrainer {
    public static void main(String[] args) throws IOException {
        try (HvdContext hvd = Hvd.init()) {
            train(hvd, Path.of(args[0]), Path.of(args[1]), Path.of(args[2]), 3);
        }
    }

    static Training train(HvdContext hvd, Path model, Path pairs, Path adapter, int epochs) throws IOException {
        var files = PretrainedModel.at(model);
        var encoder = files.encoder();
        var lora = Lora.of(8, 16, "query", "value");
        lora.attach(encoder);
        var adam = new AdamW(encoder.trained(), new AdamWOptions(1e-3));
        var optimizer = DistributedOptimizer.wrap(new TorchOptimizer(adam, encoder.module().named_parameters())).build();
        var lines = Files.readAllLines(pairs).stream().map(line -> line.split("\t")).toList();
        var tokenizer = files.tokenizer(64);
        List<long[]> first = tokenizer.encode(lines.stream().map(line -> line[0]).toList());
        List<long[]> second = tokenizer.encode(lines.stream().map(line -> line[1]).toList());
        long[] lengths = first.stream().mapToLong(text -> text.length).toArray();
        var sampler = LoadBalancingDistributedSampler.builder(lengths, hvd.size(), hvd.rank()).batchesOf(16).build();
        var samples = Dataset.of(IntStream.range(0, lines.size()).boxed().toList());
        try (var loader = DataLoader.builder(samples, sampler, batch -> batch).batchSize(16).build()) {
            Training end = TrainingLoop.of(hvd, optimizer).with(new BroadcastState(0)).run(epochs, loader, (batch, training) -> {
                try (PointerScope scope = new PointerScope()) {
                    optimizer.zeroGradients();
                    Tensor a = encoder.sentences(TokenBatch.of(batch.stream().map(first::get).toList()));
                    Tensor b = encoder.sentences(TokenBatch.of(batch.stream().map(second::get).toList()));
                    Tensor loss = Sentences.contrastiveLoss(hvd, "pairs", a, b, 20);
                    TorchOptimizer.backward(loss);
                    optimizer.step();
                    training.metrics().add("loss", loss.item_double() * batch.size(), batch.size());
                }
            });
            if (hvd.rank() == 0) lora.save(encoder, adapter, files.source());
            return end;
        }
    }
}
