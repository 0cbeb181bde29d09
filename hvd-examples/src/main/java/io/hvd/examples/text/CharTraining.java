package io.hvd.examples.text;

import static org.bytedeco.pytorch.global.torch.nll_loss;

import io.hvd.HvdContext;
import io.hvd.data.DistributedSampler;
import io.hvd.data.EvalSampler;
import io.hvd.data.Sampler;
import io.hvd.examples.ExampleFailure;
import io.hvd.examples.Progress;
import io.hvd.examples.training.FiniteLoss;
import io.hvd.examples.training.RunTotals;
import io.hvd.examples.training.SeededModule;
import io.hvd.examples.training.TorchDevice;
import io.hvd.examples.training.WeightCheck;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.optimizer.torch.TorchBatch;
import io.hvd.optimizer.torch.TorchLoader;
import io.hvd.optimizer.torch.TorchOptimizer;
import io.hvd.tensor.Device;
import io.hvd.train.MeanMetric;
import java.util.List;
import java.util.Locale;
import org.apache.commons.cli.ParseException;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Adam;
import org.bytedeco.pytorch.AdamOptions;
import org.bytedeco.pytorch.NoGradGuard;

/** Trains the language model on every rank's share of the text, and evaluates it on the text's last tenth. */
final class CharTraining {
    private static final int TEST_SHARE = 10;
    private static final int TEST_BATCH = 64;
    /** An LSTM's gradients grow now and then by themselves; they are scaled down to this norm. */
    private static final double LARGEST_NORM = 1;

    private static final int WEIGHTS_DIFFER = 1;

    private final HvdContext hvd;
    private final CharOptions options;
    private final Text text;
    private final int testWindows;
    private final TorchDevice device;
    private final CharModel model;
    private final DistributedOptimizer optimizer;
    private final RunTotals totals = new RunTotals();
    private long steps;

    /** @throws ParseException on all ranks, if the text is too short or is not the same on all of them */
    CharTraining(HvdContext hvd, CharOptions options, Text text) throws ParseException {
        this.hvd = hvd;
        this.options = options;
        this.text = text;
        this.testWindows = Math.max(1, text.windows(options.width()) / TEST_SHARE);
        requireText();
        this.device = TorchDevice.of(hvd, options.cuda());
        this.model = device.onto(SeededModule.seeded(
                options.seed(), () -> new CharModel(text.alphabet().length(), options.hidden(), options.layers())));
        this.optimizer = DistributedOptimizer.wrap(new TorchOptimizer(
                        new Adam(model.parameters(), new AdamOptions(options.learningRate())),
                        model.named_parameters()))
                .context(hvd)
                .compression(options.compression())
                .clipGradientNorm(LARGEST_NORM)
                .build();
    }

    private void requireText() throws ParseException {
        EveryRank.requireSame(hvd, "char_lm.text", "texts", text.checksum());
        if (text.windows(options.width()) < 2) {
            throw new ParseException("the text has " + text.length() + " characters, expected at least "
                    + (2 * options.width() + 1) + ", two samples of --width " + options.width());
        }
    }

    /** The mean of the negative logarithms of the probabilities of the right characters, and the share of right guesses. */
    private record Evaluation(double loss, double accuracy) {}

    /** Trains all epochs; rank 0 prints. @return the exit code */
    int run() throws ExampleFailure {
        optimizer.broadcastParameters(0);
        optimizer.broadcastOptimizerState(0);
        int trainWindows = text.windows(options.width()) - testWindows;
        DistributedSampler sampler = DistributedSampler.builder(trainWindows, hvd.size(), hvd.rank())
                .seed(options.seed())
                .build();
        EvalSampler everyOne = new EvalSampler(testWindows, hvd.size(), hvd.rank());
        Evaluation last = new Evaluation(Double.NaN, Double.NaN);
        int epoch = 0;
        try (TorchLoader<int[]> loader = loader(0, trainWindows, sampler, options.batchSize());
                TorchLoader<int[]> testLoader = loader(trainWindows, testWindows, everyOne, TEST_BATCH)) {
            for (; epoch < options.epochs() && steps < options.maxSteps(); epoch++) {
                sampler.setEpoch(epoch);
                double trainingLoss = train(loader, epoch);
                last = evaluate(testLoader);
                say(
                        "epoch %d/%d: training loss %.4f, test loss %.4f, %.2f %% of the characters right",
                        epoch + 1, options.epochs(), trainingLoss, last.loss, 100 * last.accuracy);
                FiniteLoss.require(last.loss, "the test loss after epoch " + (epoch + 1));
            }
        }
        return finish(epoch, last);
    }

    private int finish(int epochs, Evaluation last) {
        WeightCheck weights = WeightCheck.of(hvd, model);
        if (hvd.rank() == 0 && options.sample() > 0) {
            say("%s", "sample: " + new CharWriter(model, device, text, options.seed()).write(options.sample()));
        }
        say("%s", weights);
        say("%s", totals.dataWait());
        say("%s", totals.result("char-lm", options.origin(), hvd.size(), epochs, last.loss, last.accuracy));
        return weights.areEqual() ? 0 : WEIGHTS_DIFFER;
    }

    private void say(String format, Object... values) {
        if (hvd.rank() == 0) {
            System.out.printf(Locale.ROOT, format + "%n", values);
        }
    }

    private TorchLoader<int[]> loader(int first, int count, Sampler sampler, int batchSize) {
        return TorchLoader.builder(text.window(options.width(), first, count), sampler, new CharLayout(options.width()))
                .batchSize(batchSize)
                .workers(options.workers())
                .on(options.cuda() ? hvd.device() : Device.CPU)
                .build();
    }

    /** Returns the mean loss over all ranks. */
    private double train(TorchLoader<int[]> loader, int epoch) {
        long start = System.nanoTime();
        MeanMetric losses = new MeanMetric("training_loss");
        String title = String.format(Locale.ROOT, "epoch %d/%d", epoch + 1, options.epochs());
        try (Progress progress = Progress.on(hvd.rank() == 0, title, loader.batches())) {
            for (TorchBatch batch : loader) {
                losses.add(step(batch) * batch.size(), batch.size());
                progress.step();
                if (++steps >= options.maxSteps()) {
                    break;
                }
            }
        }
        totals.trained((System.nanoTime() - start) / 1e9);
        totals.waited(loader.waitNanos());
        return losses.reduce(hvd).mean();
    }

    private double step(TorchBatch batch) {
        try (PointerScope scope = new PointerScope()) {
            optimizer.zeroGradients();
            org.bytedeco.pytorch.Tensor loss = loss(batch);
            loss.backward();
            optimizer.step();
            totals.stepped(optimizer.lastStep());
            totals.saw(batch.size());
            return loss.item_float();
        }
    }

    private org.bytedeco.pytorch.Tensor loss(TorchBatch batch) {
        List<org.bytedeco.pytorch.Tensor> fields = batch.fields();
        return nll_loss(model.forward(fields.get(0)), fields.get(1).reshape(-1));
    }

    private Evaluation evaluate(TorchLoader<int[]> loader) {
        MeanMetric losses = new MeanMetric("loss");
        MeanMetric hits = new MeanMetric("accuracy");
        for (TorchBatch batch : loader) {
            try (PointerScope scope = new PointerScope();
                    NoGradGuard guard = new NoGradGuard()) {
                org.bytedeco.pytorch.Tensor scores =
                        model.forward(batch.fields().get(0));
                org.bytedeco.pytorch.Tensor next = batch.fields().get(1).reshape(-1);
                int characters = batch.size() * options.width();
                losses.add(nll_loss(scores, next).item_float() * (double) characters, characters);
                hits.add(
                        scores.argmax(new org.bytedeco.pytorch.LongOptional(1), false)
                                .eq(next)
                                .sum()
                                .item_long(),
                        characters);
            }
        }
        return new Evaluation(losses.reduce(hvd).mean(), hits.reduce(hvd).mean());
    }
}
