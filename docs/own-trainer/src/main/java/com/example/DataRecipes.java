package com.example;

import io.hvd.HvdContext;
import io.hvd.data.DataLoader;
import io.hvd.data.Dataset;
import io.hvd.data.LoadBalancingDistributedSampler;
import io.hvd.data.mapped.MappedDataset;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.function.Consumer;

/** Ways of bringing data to a trainer, to copy. */
final class DataRecipes {
    private DataRecipes() {}

    /** The lines of a text file, once in the memory of each host. */
    static MappedDataset map(HvdContext hvd, Path corpus, Path file) {
        return MappedDataset.shared(hvd, file, "corpus 7, tokenizer 2", records -> {
            for (String line : Files.readAllLines(corpus)) {
                records.add(line.getBytes(StandardCharsets.UTF_8));
            }
        });
    }

    /** Batches whose texts are as long as those of the other ranks at the same time. */
    static DataLoader<int[], List<int[]>> balance(HvdContext hvd, Dataset<int[]> texts) throws Exception {
        var sampler = LoadBalancingDistributedSampler.builder(texts, text -> text.length, hvd.size(), hvd.rank())
                .seed(42)
                .build();
        return DataLoader.<int[], List<int[]>>builder(texts, sampler, List::copyOf)
                .batchSize(64)
                .workers(2)
                .build();
    }

    /** Trains an epoch, and returns the share of its time in which the loop waited for data. */
    static <B> double dataWait(DataLoader<?, B> loader, Consumer<B> step) {
        long begun = System.nanoTime();
        long before = loader.waitNanos();
        for (B batch : loader) {
            step.accept(batch);
        }
        return (loader.waitNanos() - before) / (double) (System.nanoTime() - begun);
    }
}
