package io.hvd.examples.image;

import io.hvd.HvdContext;
import io.hvd.data.EpochBatches;
import io.hvd.examples.ExampleFailure;
import io.hvd.examples.StepProgress;
import io.hvd.examples.data.ImageSample;
import io.hvd.examples.data.ImageSets;
import io.hvd.examples.training.BatchPlace;
import io.hvd.examples.training.FiniteLoss;
import io.hvd.examples.training.RunTotals;
import io.hvd.examples.training.SeededModule;
import io.hvd.examples.training.TorchDevice;
import io.hvd.optimizer.torch.TorchBatch;
import io.hvd.optimizer.torch.TorchLoader;
import io.hvd.tensor.Device;
import io.hvd.train.Schedule;
import java.io.IOException;
import java.util.Locale;
import java.util.OptionalDouble;
import java.util.function.Supplier;
import org.apache.commons.cli.ParseException;

/** Trains an image classifier on every rank's share of the images, and evaluates it on all of them. */
final class ImageTraining {
    private final HvdContext hvd;
    private final TrainingOptions options;
    private final ImageSets images;
    private final ImageClassifier model;
    private final TrainingOptimizer optimizer;
    private final TrainingCourse course;
    private final TrainingStep step;
    private final Evaluator evaluator;
    private final TrainingReport report;
    private final RunTotals totals = new RunTotals();
    private final RunRecord record;

    /** @throws ParseException on all ranks, if the flags do not go with their number */
    ImageTraining(
            String example, HvdContext hvd, TrainingOptions options, ImageSets images, Supplier<ImageClassifier> net)
            throws ParseException, IOException {
        this(RunStart.of(example, hvd, options), options, images, net, HorovodMnistFlags.NONE);
    }

    /** @param horovods what Horovod's MNIST example asks for besides */
    ImageTraining(
            RunStart start,
            TrainingOptions options,
            ImageSets images,
            Supplier<ImageClassifier> net,
            HorovodMnistFlags horovods)
            throws ParseException, IOException {
        HvdContext hvd = start.hvd();
        options.requireRanks(hvd.size());
        new OutputFiles()
                .with("checkpoint", options.checkpoint())
                .with("record-samples", options.series().samples().map(file -> TrainingSeries.ofRank(file, 0)))
                .require(hvd);
        this.hvd = hvd;
        this.options = options;
        this.images = images;
        TorchDevice device = TorchDevice.of(hvd, options.cuda());
        this.model = device.onto(SeededModule.seeded(options.seed(), net));
        this.record = new RunRecord(hvd, start.example(), options.run());
        Schedule schedule = options.schedule(hvd.size());
        this.optimizer = new TrainingOptimizer(hvd, options, horovods, model, schedule.rate(0));
        this.course = TrainingCourse.of(start, options, images.train().size(), model, optimizer);
        this.step = new TrainingStep(options, schedule, device, model, optimizer, course, totals, record);
        this.evaluator = new Evaluator(hvd, images, device, model, horovods.testBatchSize(), 0);
        this.report = new TrainingReport(start.example(), hvd, options, horovods, optimizer, totals, images.origin());
    }

    /**
     * Runs all epochs; rank 0 prints the result line.
     *
     * @throws ExampleFailure on all ranks, as soon as the loss is not a finite number, and after SIGTERM if an exit code was asked
     *     for
     * @return the last evaluation, the same on every rank
     */
    Evaluation run() throws IOException, ParseException, ExampleFailure {
        Evaluation last = record.during(this::train);
        if (course.isTerminated()) {
            options.series().leave();
        }
        return last;
    }

    private Evaluation train() throws IOException, ParseException, ExampleFailure {
        report.start(images.train().size(), images.test().size());
        int firstEpoch = course.resume();
        optimizer.outermost().broadcastParameters(0);
        optimizer.outermost().broadcastOptimizerState(0);
        Evaluation last = Evaluation.NONE;
        int epoch = firstEpoch;
        try (TrainingCourse closing = course;
                TorchLoader<ImageSample> loader = loader()) {
            record.begins(course.stepsBefore(firstEpoch, loader.batches()));
            for (; epoch < options.epochs() && totals.steps() < options.maxSteps(); epoch++) {
                last = trainAndEvaluate(loader, epoch, last);
                if (course.isTerminated()) {
                    record.stopped("SIGTERM has come, and a checkpoint is written");
                    return last;
                }
            }
        }
        Evaluation end = firstEpoch < options.epochs() ? last : evaluator.evaluate(batch -> {});
        FiniteLoss.require(end.loss(), "the test loss");
        report.end(epoch, end);
        return end;
    }

    /** @return the epoch's evaluation, or the one before if SIGTERM has ended the epoch */
    private Evaluation trainAndEvaluate(TorchLoader<ImageSample> loader, int epoch, Evaluation before)
            throws IOException, ParseException, ExampleFailure {
        // Dropout depends on seed, epoch and rank, so that a resumed run draws the numbers of an uninterrupted one.
        model.seedDropout(options.seed() + 1 + (long) epoch * hvd.size() + hvd.rank());
        boolean complete = trainEpoch(loader, epoch);
        if (course.isTerminated()) {
            return before;
        }
        course.evaluationBegins(epoch);
        Evaluation measured = evaluator.evaluate(batch -> {});
        if (course.evaluationEnds(epoch)) {
            return before;
        }
        report.epoch(epoch, measured);
        record.epochEnds(epoch, measured);
        FiniteLoss.require(measured.loss(), "the test loss after epoch " + (epoch + 1));
        save(epoch, complete);
        return measured;
    }

    private TorchLoader<ImageSample> loader() {
        return TorchLoader.builder(images.train(), course.sampler(), new ImageTensors(images))
                .batchSize(options.batchSize())
                .workers(options.workers())
                .on(options.cuda() ? hvd.device() : Device.CPU)
                .build();
    }

    private void save(int epoch, boolean complete) throws IOException {
        if (complete) {
            course.epochEnds(epoch, epoch + 1 == options.epochs() || totals.steps() >= options.maxSteps());
        } else {
            course.cutShort(epoch);
        }
    }

    /** False if the epoch was cut short. */
    private boolean trainEpoch(TorchLoader<ImageSample> loader, int epoch) throws IOException {
        long start = System.nanoTime();
        model.train(true);
        String title = String.format(Locale.ROOT, "epoch %d/%d", epoch + 1, options.epochs());
        int batches = 0;
        EpochBatches.Pass<TorchBatch> pass = course.begin(loader, epoch);
        try (StepProgress progress = StepProgress.on(hvd.rank() == 0, title, pass.batches())) {
            record.epochBegins();
            while (pass.hasNext()) {
                TorchBatch batch = pass.next();
                record.batchArrives();
                BatchPlace place = new BatchPlace(epoch, batches++, pass.batches(), options.passes());
                OptionalDouble loss = step.run(batch, place, report.logs(place));
                if (loss.isPresent()) {
                    report.batch(place, loader.batches(), images.train().size(), loss.getAsDouble());
                }
                progress.step();
                if (course.stepped(epoch, place.isLast()) || totals.steps() >= options.maxSteps()) {
                    break;
                }
            }
        }
        totals.trained((System.nanoTime() - start) / 1e9);
        totals.waited(loader.waitNanos());
        return batches == pass.batches();
    }
}
