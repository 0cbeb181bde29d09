package io.hvd.examples.demo;

import io.hvd.HvdContext;
import io.hvd.RankBody;
import io.hvd.data.DataLoader;
import io.hvd.data.Dataset;
import io.hvd.data.DistributedSampler;
import io.hvd.data.EvalSampler;
import io.hvd.data.Sampler;
import io.hvd.examples.Example;
import io.hvd.examples.Flags;
import io.hvd.examples.QuickRun;
import io.hvd.examples.data.DataOrigin;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.IntConsumer;
import java.util.stream.IntStream;
import org.apache.commons.cli.CommandLine;
import org.apache.commons.cli.Options;
import org.apache.commons.cli.ParseException;

/** Shows the epochs of a sampler with and without {@code setEpoch}, and what padding does to five samples on two ranks. */
public final class SamplerExample implements Example {
    private static final String NAME = "sampler-demo";

    /** The samples are the numbers from 1 on. */
    private record Settings(int items, int batchSize, int epochs, long seed) {}

    @Override
    public String name() {
        return NAME;
    }

    @Override
    public String summary() {
        return "the order of samples with and without setEpoch, and samples that padding repeats";
    }

    @Override
    public Options flags() {
        return new Options()
                .addOption(Flags.valued("items", "number of samples, default 21"))
                .addOption(Flags.valued("batch-size", "samples per rank and batch, default 5"))
                .addOption(Flags.valued("epochs", "number of epochs, default 3"))
                .addOption(Flags.valued("seed", "seed of the order, default 0"));
    }

    @Override
    public List<QuickRun> quickRuns() {
        return List.of(QuickRun.of(""));
    }

    @Override
    public RankBody<Integer> program(CommandLine line) throws ParseException {
        Settings settings = new Settings(
                Flags.count(line, "items", 21, 1),
                Flags.count(line, "batch-size", 5, 1),
                Flags.count(line, "epochs", 3, 1),
                Flags.number(line, "seed", 0, Long.MIN_VALUE));
        return hvd -> run(hvd, settings);
    }

    private static int run(HvdContext hvd, Settings settings) {
        Demo demo = new Demo(NAME, hvd);
        DistributedSampler sampler = DistributedSampler.builder(settings.items(), hvd.size(), hvd.rank())
                .seed(settings.seed())
                .build();
        demo.say("with setEpoch(epoch) before every epoch:");
        List<List<List<Integer>>> with = epochs(hvd, demo, settings, sampler, sampler::setEpoch);
        demo.say("without set_epoch as in torch, where every epoch is epoch 0; here by setEpoch(0) each time:");
        List<List<List<Integer>>> without = epochs(hvd, demo, settings, sampler, epoch -> sampler.setEpoch(0));
        demo.say("without a call, where hvd's sampler goes on to the next epoch by itself:");
        sampler.setEpoch(0);
        List<List<List<Integer>>> byItself = epochs(hvd, demo, settings, sampler, epoch -> {});
        showPadding(demo);
        demo.result(
                "batches=%d epochs=%d orders_with=%d orders_without=%d by_itself=%s data=%s",
                with.get(0).size(),
                settings.epochs(),
                with.stream().distinct().count(),
                without.stream().distinct().count(),
                byItself.equals(with) ? "with" : "other",
                DataOrigin.DRAWN);
        return 0;
    }

    /** Loads epochs, and prints the batches of all ranks; returns those of this rank. */
    private static List<List<List<Integer>>> epochs(
            HvdContext hvd, Demo demo, Settings settings, DistributedSampler sampler, IntConsumer before) {
        Dataset<Integer> numbers =
                Dataset.of(IntStream.rangeClosed(1, settings.items()).boxed().toList());
        List<List<List<Integer>>> epochs = new ArrayList<>();
        try (var loader = DataLoader.<Integer, List<Integer>>builder(numbers, sampler, List::copyOf)
                .batchSize(settings.batchSize())
                .dropLast(true)
                .workers(0)
                .build()) {
            for (int epoch = 0; epoch < settings.epochs(); epoch++) {
                before.accept(epoch);
                List<List<Integer>> batches = new ArrayList<>();
                loader.forEach(batches::add);
                demo.sayAll("  epoch " + epoch + ", rank " + hvd.rank() + ": " + batches);
                epochs.add(batches);
            }
        }
        return epochs;
    }

    private static void showPadding(Demo demo) {
        int ranks = 2;
        int items = 5;
        for (int rank = 0; rank < ranks; rank++) {
            Sampler padded = DistributedSampler.builder(items, ranks, rank)
                    .shuffle(false)
                    .build();
            demo.say(
                    "[1, 2, 3, 4, 5] on rank %d of 2: %s by DistributedSampler, which repeats %d; %s by EvalSampler",
                    rank, numbers(padded), padded.padding(), numbers(new EvalSampler(items, ranks, rank)));
        }
    }

    private static List<Integer> numbers(Sampler sampler) {
        return Arrays.stream(sampler.indices()).map(index -> index + 1).boxed().toList();
    }
}
