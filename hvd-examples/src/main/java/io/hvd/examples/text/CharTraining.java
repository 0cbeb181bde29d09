package io.hvd.examples.text;

import io.hvd.HvdContext;
import io.hvd.data.DistributedSampler;
import io.hvd.data.EpochBatches;
import io.hvd.data.EvalSampler;
import io.hvd.data.Sampler;
import io.hvd.examples.ExampleFailure;
import io.hvd.examples.StepProgress;
import io.hvd.examples.training.BatchPlace;
import io.hvd.examples.training.FiniteLoss;
import io.hvd.examples.training.RunTotals;
import io.hvd.examples.training.SeededModule;
import io.hvd.examples.training.TorchDevice;
import io.hvd.examples.training.WeightCheck;
import io.hvd.optimizer.torch.TorchBatch;
import io.hvd.optimizer.torch.TorchLoader;
import io.hvd.train.MeanMetric;
import java.util.Locale;
import org.apache.commons.cli.ParseException;

/** Trains the language model on every rank's share of the text, and evaluates it on the text's last tenth. */
final class CharTraining {
    private static final int TEST_SHARE = 10;
    private static final int TEST_BATCH = 64;
    private static final int WEIGHTS_DIFFER = 1;

    private final HvdContext hvd;
    private final CharOptions options;
    private final Text text;
    private final int testWindows;
    private final TorchDevice device;
    private final CharModel model;
    private final RunTotals totals = new RunTotals();
    private final CharStep step;

    /** @throws ParseException on all ranks, if the text is too short or is not the same on all of them */
    CharTraining(HvdContext hvd, CharOptions options, Text text) throws ParseException {
        this.hvd = hvd;
        this.options = options;
        this.text = text;
        this.testWindows = Math.max(1, text.windows(options.width()) / TEST_SHARE);
        requireText();
        this.device = TorchDevice.of(hvd, options.cuda());
        this.model = device.onto(SeededModule.seeded(
                options.seed(), () -> options.net().build(text.alphabet().length(), options.width())));
        this.step = new CharStep(hvd, options, device, model, totals);
    }

    private void requireText() throws ParseException {
        EveryRank.requireSame(hvd, "char_lm.text", "texts", text.checksum());
        if (text.windows(options.width()) < 2) {
            throw new ParseException("the text has " + text.length() + " characters, expected at least "
                    + (2 * options.width() + 1) + ", two samples of --width " + options.width());
        }
    }

    /** Trains all epochs; rank 0 prints. @return the exit code */
    int run() throws ExampleFailure {
        step.broadcast();
        int trainWindows = text.windows(options.width()) - testWindows;
        DistributedSampler sampler = DistributedSampler.builder(trainWindows, hvd.size(), hvd.rank())
                .seed(options.seed())
                .build();
        EvalSampler everyOne = new EvalSampler(testWindows, hvd.size(), hvd.rank());
        CharEvaluation last = CharEvaluation.NONE;
        int epoch = 0;
        try (TorchLoader<int[]> loader = loader(0, trainWindows, sampler, options.batchSize());
                TorchLoader<int[]> testLoader = loader(trainWindows, testWindows, everyOne, TEST_BATCH)) {
            for (; epoch < options.epochs() && totals.steps() < options.maxSteps(); epoch++) {
                sampler.setEpoch(epoch);
                double trainingLoss = train(loader, epoch);
                last = CharEvaluation.of(hvd, step, testLoader, options.width());
                say(
                        "epoch %d/%d: training loss %.4f, test loss %.4f, %.2f %% of the characters right, perplexity %.4f",
                        epoch + 1,
                        options.epochs(),
                        trainingLoss,
                        last.loss(),
                        100 * last.accuracy(),
                        last.perplexity());
                FiniteLoss.require(last.loss(), "the test loss after epoch " + (epoch + 1));
            }
        }
        return finish(epoch, last);
    }

    private int finish(int epochs, CharEvaluation last) {
        WeightCheck weights = WeightCheck.of(hvd, model);
        if (hvd.rank() == 0 && options.sample() > 0) {
            say("%s", "sample: " + new CharWriter(model, device, text, options.seed()).write(options.sample()));
        }
        say("%s", weights);
        say("%s", totals.dataWait());
        say(
                "%s model=%s perplexity=%.4f",
                totals.result("char-lm", options.origin(), hvd.size(), epochs, last.loss(), last.accuracy()),
                options.net().kind().word(),
                last.perplexity());
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
                .on(device.of(hvd))
                .build();
    }

    /** Returns the mean loss over all ranks. */
    private double train(TorchLoader<int[]> loader, int epoch) {
        long start = System.nanoTime();
        MeanMetric losses = new MeanMetric("training_loss");
        String title = String.format(Locale.ROOT, "epoch %d/%d", epoch + 1, options.epochs());
        EpochBatches.Pass<TorchBatch> pass = loader.iterator();
        try (StepProgress progress = StepProgress.on(hvd.rank() == 0, title, pass.batches())) {
            for (int batches = 0; pass.hasNext() && totals.steps() < options.maxSteps(); batches++) {
                TorchBatch batch = pass.next();
                BatchPlace place = new BatchPlace(epoch, batches, pass.batches(), options.passes());
                losses.add(step.run(batch, place) * batch.size(), batch.size());
                progress.step();
            }
        }
        totals.trained((System.nanoTime() - start) / 1e9);
        totals.waited(loader.waitNanos());
        return losses.reduce(hvd).mean();
    }
}
