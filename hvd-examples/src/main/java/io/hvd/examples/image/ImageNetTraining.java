package io.hvd.examples.image;

import io.hvd.HvdContext;
import io.hvd.ObjectCodec;
import io.hvd.data.DistributedSampler;
import io.hvd.examples.ExampleFailure;
import io.hvd.examples.StepProgress;
import io.hvd.examples.data.ImageSample;
import io.hvd.examples.data.ImageSets;
import io.hvd.examples.data.PhotoSets;
import io.hvd.examples.data.RandomCrops;
import io.hvd.examples.training.AdasumFlag;
import io.hvd.examples.training.FiniteLoss;
import io.hvd.examples.training.RunTotals;
import io.hvd.examples.training.SeededModule;
import io.hvd.examples.training.TorchDevice;
import io.hvd.optimizer.torch.TorchBatch;
import io.hvd.optimizer.torch.TorchLoader;
import io.hvd.train.Schedule;
import java.io.IOException;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.TreeSet;
import org.apache.commons.cli.ParseException;

/** Trains a residual net on every rank's share of the images, and evaluates it on every image to evaluate once. */
final class ImageNetTraining {
    private final HvdContext hvd;
    private final ImageNetOptions options;
    private final RandomCrops crops;
    private final ImageSets images;
    private final Schedule schedule;
    private final TorchDevice device;
    private final ImageClassifier model;
    private final ImageNetStep step;
    private final Evaluator evaluator;
    private final RunTotals totals = new RunTotals();
    private final RunRecord record;

    /** @throws ParseException on all ranks, if the flags do not go with their number, or if they have different images */
    ImageNetTraining(HvdContext hvd, ImageNetOptions options, PhotoSets photos) throws ParseException {
        if (options.adasum()) {
            AdasumFlag.requireRanks(hvd.size());
        }
        Optional<String> difference = photos.difference(hvd);
        if (difference.isPresent()) {
            throw new ParseException(difference.get());
        }
        ImageNetOptions.Data data = options.data();
        this.hvd = hvd;
        this.options = options;
        this.crops = photos.randomCrops(data.imageSize(), options.seed(), data.skipping());
        this.images = photos.sets(crops, data.imageSize());
        this.schedule = options.schedule(hvd.size());
        this.device = TorchDevice.of(hvd, options.cuda());
        this.model = device.onto(SeededModule.seeded(
                options.seed(),
                () -> ResNet.named(options.model(), ResNet.Stem.IMAGENET, photos.classes(), options.width())));
        this.step = new ImageNetStep(hvd, options, model, schedule.rate(0));
        this.evaluator = new Evaluator(hvd, images, device, model, options.valBatchSize(), options.workers());
        this.record = new RunRecord(hvd, ImageNetExample.NAME, options.run());
    }

    /**
     * Trains; rank 0 prints.
     *
     * @throws ExampleFailure on all ranks, as soon as they find a loss that is not a finite number
     * @return the last evaluation, the same on every rank
     */
    Evaluation run() throws IOException, ParseException, ExampleFailure {
        return record.during(this::train);
    }

    private Evaluation train() throws IOException, ParseException, ExampleFailure {
        new OutputFiles()
                .with("checkpoint-format", options.checkpoints().map(files -> files.file(options.epochs())))
                .require(hvd);
        int first = restore();
        Evaluation last = Evaluation.NONE;
        int epoch = first;
        crops.setEpoch(first);
        try (TorchLoader<ImageSample> loader = loader(first)) {
            sayWhatIsTrained(loader.batches());
            record.begins((long) first * loader.batches());
            for (; epoch < options.epochs() && totals.steps() < options.maxSteps(); epoch++) {
                last = runEpoch(loader, epoch);
            }
        }
        Evaluation end = epoch == first ? evaluate() : last;
        FiniteLoss.require(end.loss(), "the validation loss");
        finish(epoch, end);
        return end;
    }

    private void sayWhatIsTrained(int batches) {
        say(
                "model %s on images of %dx%d pixels in %d classes, %s: %d to train on, %d to evaluate",
                options.model(),
                images.rows(),
                images.columns(),
                images.classes(),
                images.origin(),
                images.train().size(),
                images.test().size());
        say(
                "%d steps per epoch of %d x %d images on each of %d ranks; learning rate %s",
                batches, options.batchesPerAllreduce(), options.batchSize(), hvd.size(), schedule);
    }

    /** Brings all ranks to the state of the newest file, or of rank 0; returns the epochs that are done. */
    private int restore() throws IOException {
        Optional<EpochFiles> files = options.checkpoints();
        int epochs = files.isEmpty() ? 0 : files.get().newest(hvd, options.epochs());
        if (epochs > 0) {
            String model = checkpoint(epochs).restore(true).get("arch");
            say(
                    "going on after epoch %d of %s, from %s",
                    epochs, model, files.get().file(epochs));
        }
        step.optimizer().broadcastParameters(0);
        hvd.broadcastParameters(model.statistics(), 0);
        step.optimizer().broadcastOptimizerState(0);
        return epochs;
    }

    private TrainingCheckpoint checkpoint(int epochs) {
        return new TrainingCheckpoint(
                hvd, model, step.optimizer(), options.checkpoints().map(files -> files.file(epochs)));
    }

    private TorchLoader<ImageSample> loader(int firstEpoch) {
        DistributedSampler sampler = DistributedSampler.builder(images.train().size(), hvd.size(), hvd.rank())
                .seed(options.seed())
                .build();
        sampler.setEpoch(firstEpoch);
        return TorchLoader.builder(images.train(), sampler, new ImageTensors(images))
                .batchSize(Math.multiplyExact(options.batchSize(), options.batchesPerAllreduce()))
                .workers(options.workers())
                .on(device.of(hvd))
                .build();
    }

    private Evaluation runEpoch(TorchLoader<ImageSample> loader, int epoch) throws IOException, ExampleFailure {
        long start = System.nanoTime();
        long before = totals.steps();
        crops.setEpoch(epoch);
        StepFigures.Reading training = trainEpoch(loader, epoch);
        FiniteLoss.require(training.loss().average(), "the training loss of epoch " + (epoch + 1));
        totals.trained((System.nanoTime() - start) / 1e9);
        totals.waited(loader.waitNanos());
        Evaluation found = evaluate();
        say(
                "epoch %d/%d: %.1f s, learning rate %.6f, training loss %.4f, top-1 %.2f %%; validation loss %.4f,"
                        + " top-1 %.2f %%, top-5 %.2f %% of %d images",
                epoch + 1,
                options.epochs(),
                (System.nanoTime() - start) / 1e9,
                step.optimizer().learningRate(),
                training.loss().average(),
                100 * training.top1().average(),
                found.loss(),
                100 * found.accuracy(),
                100 * found.top5(),
                found.samples());
        record.epochEnds(epoch, found);
        FiniteLoss.require(found.loss(), "the validation loss after epoch " + (epoch + 1));
        if (totals.steps() - before == loader.batches()) {
            checkpoint(epoch + 1)
                    .save(Map.of(TrainingCheckpoint.EPOCHS, String.valueOf(epoch + 1), "arch", options.model()), false);
        }
        return found;
    }

    /** Returns the figures over the images of all ranks. */
    private StepFigures.Reading trainEpoch(TorchLoader<ImageSample> loader, int epoch) {
        StepFigures figures = new StepFigures();
        model.train(true);
        String title = String.format(Locale.ROOT, "epoch %d/%d", epoch + 1, options.epochs());
        int batches = 0;
        record.epochBegins();
        try (StepProgress progress = StepProgress.on(hvd.rank() == 0, title, loader.batches())) {
            for (TorchBatch batch : loader) {
                record.batchArrives();
                long start = System.nanoTime();
                List<BatchResult> results =
                        step.run(batch, schedule.rate(epoch + batches++ / (double) loader.batches()));
                figures.add(results, (System.nanoTime() - start) / 1e9, 0);
                totals.stepped(step.optimizer().lastStep());
                totals.saw(batch.size());
                record.stepEnds(
                        batch.size(),
                        BatchResult.meanLoss(results),
                        step.optimizer().lastStep().exposedNanos());
                progress.step();
                if (totals.steps() >= options.maxSteps()) {
                    break;
                }
            }
        }
        return figures.ofAllRanks(hvd);
    }

    /** Evaluates the model with rank 0's running statistics, which are saved; in training each rank has its own. */
    private Evaluation evaluate() {
        hvd.broadcastParameters(model.statistics(), 0);
        return evaluator.evaluate(batch -> {});
    }

    private void finish(int epochs, Evaluation end) {
        TreeSet<String> skipped = new TreeSet<>();
        hvd.allgatherObject("skipped", String.join("\n", crops.skipped()), ObjectCodec.utf8())
                .forEach(each -> each.lines().forEach(skipped::add));
        skipped.forEach(each -> say("%s", "skipped: " + each));
        say("%s", totals.dataWait());
        say(
                "%s model=%s top5=%.5f evaluated=%d skipped=%d",
                totals.result(ImageNetExample.NAME, images.origin(), hvd.size(), epochs, end.loss(), end.accuracy()),
                options.model(),
                end.top5(),
                end.samples(),
                skipped.size());
    }

    private void say(String format, Object... values) {
        if (hvd.rank() == 0) {
            System.out.printf(Locale.ROOT, format + "%n", values);
        }
    }
}
