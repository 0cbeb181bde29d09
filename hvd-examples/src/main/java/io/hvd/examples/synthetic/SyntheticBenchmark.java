package io.hvd.examples.synthetic;

import static org.bytedeco.pytorch.global.torch.nll_loss;
import static org.bytedeco.pytorch.global.torch.randn;

import io.hvd.HvdContext;
import io.hvd.data.SplitMix64;
import io.hvd.examples.data.DataOrigin;
import io.hvd.examples.image.ImageClassifier;
import io.hvd.examples.training.AdasumFlag;
import io.hvd.examples.training.RunTotals;
import io.hvd.examples.training.SeededModule;
import io.hvd.examples.training.TorchDevice;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.optimizer.torch.TorchOptimizer;
import io.hvd.optimizer.torch.TorchTensors;
import io.hvd.tensor.ReduceOp;
import io.hvd.train.MeanMetric;
import java.util.Arrays;
import java.util.Locale;
import org.apache.commons.cli.ParseException;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Generator;
import org.bytedeco.pytorch.GeneratorOptional;
import org.bytedeco.pytorch.LongOptional;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/** Trains on one batch of random images over and over, and measures images per second on all ranks. */
final class SyntheticBenchmark {
    private static final double LEARNING_RATE = 0.01;

    private final HvdContext hvd;
    private final SyntheticOptions options;
    private final ImageClassifier model;
    private final DistributedOptimizer optimizer;
    private final Tensor images;
    private final Tensor labels;
    private final RunTotals totals = new RunTotals();

    /** @throws ParseException if the flags do not go with the number of ranks */
    SyntheticBenchmark(HvdContext hvd, SyntheticOptions options) throws ParseException {
        if (options.adasum()) {
            AdasumFlag.requireRanks(hvd.size());
        }
        this.hvd = hvd;
        this.options = options;
        TorchDevice device = TorchDevice.of(hvd, options.cuda());
        this.model = device.onto(SeededModule.seeded(options.seed(), options::build));
        this.optimizer = optimizer();
        long seed = new SplitMix64(options.seed() + hvd.rank()).nextLong();
        this.images = device.onto(randomImages(seed));
        this.labels = device.onto(randomLabels(seed));
    }

    private DistributedOptimizer optimizer() {
        double rate = LEARNING_RATE * (options.adasum() ? 1 : hvd.size());
        return DistributedOptimizer.wrap(
                        new TorchOptimizer(new SGD(model.parameters(), new SGDOptions(rate)), model.named_parameters()))
                .context(hvd)
                .op(options.adasum() ? ReduceOp.ADASUM : ReduceOp.AVERAGE)
                .compression(options.compression())
                .build();
    }

    private Tensor randomImages(long seed) {
        Generator own = torch.createCPUGenerator();
        own.set_current_seed(seed);
        long[] shape = {options.batchSize(), SyntheticOptions.CHANNELS, options.imageSize(), options.imageSize()};
        return randn(shape, new GeneratorOptional(own));
    }

    private Tensor randomLabels(long seed) {
        SplitMix64 random = new SplitMix64(seed);
        long[] drawn = new long[options.batchSize()];
        Arrays.setAll(drawn, i -> random.nextInt(SyntheticOptions.CLASSES));
        return Tensor.create(drawn, drawn.length);
    }

    /** Measures; rank 0 prints. */
    void run() {
        optimizer.broadcastParameters(0);
        optimizer.broadcastOptimizerState(0);
        model.train(true);
        sayWhatIsMeasured();
        for (int batch = 0; batch < options.warmUpBatches(); batch++) {
            step();
        }
        say("measuring %d times %d batches", options.iterations(), options.batchesPerIteration());
        double[][] rates = new double[options.iterations()][];
        for (int iteration = 0; iteration < rates.length; iteration++) {
            rates[iteration] = ofAllRanks(iterate());
            say(
                    "iteration %d: %.1f images/s per rank",
                    iteration, Arrays.stream(rates[iteration]).average().orElseThrow());
        }
        finish(rates);
    }

    private void sayWhatIsMeasured() {
        long parameters = TorchTensors.parameters(model).values().stream()
                .mapToLong(io.hvd.tensor.Tensor::elements)
                .sum();
        say("model %s: %d parameters", options.model(), parameters);
        say(
                "batches of %d random images of %dx%d pixels on each of %d ranks (%s)",
                options.batchSize(),
                options.imageSize(),
                options.imageSize(),
                hvd.size(),
                options.cuda() ? "GPU" : "CPU");
        say("warming up: %d batches", options.warmUpBatches());
    }

    /** Returns this rank's images per second over one iteration. */
    private double iterate() {
        long start = System.nanoTime();
        for (int batch = 0; batch < options.batchesPerIteration(); batch++) {
            step();
            totals.stepped(optimizer.lastStep());
        }
        double seconds = (System.nanoTime() - start) / 1e9;
        int seen = options.batchSize() * options.batchesPerIteration();
        totals.saw(seen);
        totals.trained(seconds);
        return seen / seconds;
    }

    private double[] ofAllRanks(double mine) {
        return (double[]) hvd.allgather("rates", io.hvd.tensor.Tensor.of(new double[] {mine}))
                .toArray();
    }

    /** Makes one step. Asking for the loss waits for a GPU. */
    private void step() {
        try (PointerScope scope = new PointerScope()) {
            optimizer.zeroGradients();
            Tensor output = model.forward(images);
            Tensor mean = nll_loss(output, labels);
            TorchOptimizer.backward(mean);
            optimizer.step();
            mean.item_float();
        }
    }

    private void finish(double[][] rates) {
        Rate perRank =
                Rate.of(Arrays.stream(rates).flatMapToDouble(Arrays::stream).toArray());
        Rate total = Rate.of(Arrays.stream(rates)
                .mapToDouble(each -> Arrays.stream(each).sum())
                .toArray());
        BatchFit fit = fit();
        say("images/s per rank: %s", perRank);
        say("images/s of %d ranks: %s", hvd.size(), total);
        say(
                "%s model=%s images_per_second_per_rank=%.1f per_rank_range=%.1f images_per_second=%.1f range=%.1f",
                totals.result(SyntheticExample.NAME, DataOrigin.DRAWN, hvd.size(), 1, fit.loss, fit.accuracy),
                options.model(),
                perRank.mean(),
                perRank.range(),
                total.mean(),
                total.range());
    }

    /** The net's loss on the ranks' batches, which it learns by heart. */
    private record BatchFit(double loss, double accuracy) {}

    private BatchFit fit() {
        MeanMetric loss = new MeanMetric("loss");
        MeanMetric hits = new MeanMetric("accuracy");
        try (PointerScope scope = new PointerScope();
                NoGradGuard guard = new NoGradGuard()) {
            Tensor output = model.forward(images);
            loss.add(nll_loss(output, labels).item_float() * (double) options.batchSize(), options.batchSize());
            Tensor found = output.argmax(new LongOptional(1), false);
            hits.add(found.eq(labels).sum().item_long(), options.batchSize());
        }
        return new BatchFit(loss.reduce(hvd).mean(), hits.reduce(hvd).mean());
    }

    private void say(String format, Object... values) {
        if (hvd.rank() == 0) {
            System.out.printf(Locale.ROOT, format + "%n", values);
        }
    }
}
