package io.hvd.examples.image;

import io.hvd.HvdContext;
import io.hvd.data.EpochBatches;
import io.hvd.examples.ExampleFailure;
import io.hvd.examples.FiniteLoss;
import io.hvd.examples.Progress;
import io.hvd.examples.data.ImageSample;
import io.hvd.examples.data.ImageSets;
import io.hvd.optimizer.torch.TorchBatch;
import io.hvd.optimizer.torch.TorchLoader;
import io.hvd.tensor.Device;
import io.hvd.train.Schedule;
import java.io.IOException;
import java.util.Locale;
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
        this(example, hvd, options, images, net, HorovodMnistFlags.NONE);
    }

    /** @param horovods what Horovod's MNIST example asks for besides */
    ImageTraining(
            String example,
            HvdContext hvd,
            TrainingOptions options,
            ImageSets images,
            Supplier<ImageClassifier> net,
            HorovodMnistFlags horovods)
            throws ParseException, IOException {
        options.requireRanks(hvd.size());
        this.hvd = hvd;
        this.options = options;
        this.images = images;
        TorchDevice device = TorchDevice.of(hvd, options.cuda());
        this.model = device.onto(ImageClassifier.seeded(options.seed(), net));
        this.record = new RunRecord(hvd, example, options.run());
        Schedule schedule = options.schedule(hvd.size());
        this.optimizer = new TrainingOptimizer(hvd, options, horovods, model, schedule.rate(0));
        this.course = TrainingCourse.of(hvd, options, images.train().size(), model, optimizer);
        this.step = new TrainingStep(options, schedule, device, model, optimizer, course, totals, record);
        this.evaluator = new Evaluator(hvd, images, device, model, horovods.testBatchSize(), 0);
        this.report = new TrainingReport(example, hvd, options, horovods, optimizer, totals);
    }

    /**
     * Runs all epochs; rank 0 prints the result line.
     *
     * @throws ExampleFailure on all ranks, as soon as the loss is not a finite number
     * @return the last evaluation, the same on every rank
     */
    Evaluation run() throws IOException, ParseException, ExampleFailure {
        return record.during(this::train);
    }

    private Evaluation train() throws IOException, ParseException, ExampleFailure {
        new OutputFiles().with("checkpoint", options.checkpoint()).require(hvd);
        int firstEpoch = course.resume();
        optimizer.outermost().broadcastParameters(0);
        optimizer.outermost().broadcastOptimizerState(0);
        Evaluation last = Evaluation.NONE;
        int epoch = firstEpoch;
        try (TrainingCourse closing = course;
                TorchLoader<ImageSample> loader = loader()) {
            record.begins(course.stepsBefore(firstEpoch, loader.batches()));
            for (; epoch < options.epochs() && totals.steps() < options.maxSteps(); epoch++) {
                // Dropout depends on seed, epoch and rank, so that a resumed run draws the numbers of an uninterrupted
                // one.
                model.seedDropout(options.seed() + 1 + (long) epoch * hvd.size() + hvd.rank());
                boolean complete = trainEpoch(loader, epoch);
                if (course.isTerminated()) {
                    return last;
                }
                last = evaluator.evaluate(batch -> {});
                report.epoch(epoch, last);
                record.epochEnds(epoch, last);
                FiniteLoss.require(last.loss(), "the test loss after epoch " + (epoch + 1));
                save(epoch, complete);
            }
        }
        Evaluation end = firstEpoch < options.epochs() ? last : evaluator.evaluate(batch -> {});
        FiniteLoss.require(end.loss(), "the test loss");
        report.end(epoch, end);
        return end;
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
        try (Progress progress = Progress.on(hvd.rank() == 0, title, pass.batches())) {
            record.epochBegins();
            while (pass.hasNext()) {
                TorchBatch batch = pass.next();
<<<<<<< HEAD
                record.batchArrives();
                BatchPlace place = new BatchPlace(epoch, batches++, pass.batches(), options.passes());
                double loss = step.run(batch, place, report.logs(place));
                if (report.logs(place)) {
                    report.batch(place, loader.batches(), images.train().size(), loss);
=======
                boolean firstPass = batches % options.passes() == 0;
                // A checkpoint contains the learning rate of its own training, which may have had another number of
                // ranks.
                optimizer.learningRate(schedule.rate(progress(epoch, batches / (double) all)));
                batches++;
                boolean lastPass = batches % options.passes() == 0 || batches == all;
                int counted = counted(batch, epoch);
                boolean logs = counted > 0 && horovods.logs(batches - 1);
                double loss = pass(batch, counted, firstPass, lastPass, logs);
                if (logs) {
                    log(epoch, batches - 1, loader, loss);
>>>>>>> w-review
                }
                progress.step();
                if (course.stepped(epoch, place.isLast()) || totals.steps() >= options.maxSteps()) {
                    break;
                }
            }
        }
        totals.trained((System.nanoTime() - start) / 1e9);
        totals.waited(loader.waitNanos());
<<<<<<< HEAD
        return batches == pass.batches();
=======
        return batches == all;
    }

    private void log(int epoch, int batch, TorchLoader<ImageSample> loader, double loss) {
        int samples = (images.train().size() + hvd.size() - 1) / hvd.size();
        System.out.println(HorovodMnistFlags.line(
                hvd.rank(),
                epoch,
                batch,
                loader.batches(),
                options.batchSize(),
                samples,
                loss,
                optimizer.scaler().scale()));
    }

    private double progress(int epoch, double ofPass) {
        return series == null ? epoch + ofPass : series.progress(epoch);
    }

    /** The samples at a batch's beginning that count. In a series each step has random numbers of its own. */
    private int counted(TorchBatch batch, int epoch) throws IOException {
        if (series == null) {
            return batch.size();
        }
        model.seedDropout(series.seedOfStep());
        return series.counted(batch.size(), epoch);
    }

    /** @return the loss of this rank, if it is wanted; else NaN */
    private double pass(TorchBatch batch, int counted, boolean firstPass, boolean lastPass, boolean withLoss) {
        double found = Double.NaN;
        try (PointerScope scope = new PointerScope()) {
            if (firstPass) {
                optimizer.zeroGradients();
            }
            if (series != null) {
                distributed.batchSize(counted);
            }
            Tensor loss = counted == 0 ? null : loss(batch, counted);
            if (!options.noSync()) {
                optimizer.backward(scale -> backward(loss, scale));
            } else {
                addUp(loss.div(new Scalar(options.passes())), lastPass);
            }
            if (lastPass) {
                optimizer.step();
                totals.stepped(optimizer.lastStep());
            }
            if (withLoss) {
                found = loss.item_float();
            }
        }
        totals.saw(counted);
        return found;
    }

    private Tensor loss(TorchBatch batch, int counted) {
        return options.precision().compute(device.device().type(), () -> {
            Tensor output =
                    model.classify(batch.fields().get(ImageTensors.IMAGES).narrow(0, 0, counted));
            return nll_loss(output, batch.fields().get(ImageTensors.LABELS).narrow(0, 0, counted));
        });
    }

    /** A rank without samples in this step has no loss. */
    private static void backward(Tensor loss, double scale) {
        if (loss != null) {
            TorchOptimizer.backward(loss, scale);
        }
    }

    /** The last pass exchanges the sum of all. */
    private void addUp(Tensor loss, boolean lastPass) {
        if (lastPass) {
            optimizer.backward(scale -> TorchOptimizer.backward(loss, scale));
            return;
        }
        try (var local = distributed.noSync()) {
            optimizer.backward(scale -> TorchOptimizer.backward(loss, scale));
        }
    }

    private void report(int epoch, Evaluation evaluation) {
        if (hvd.rank() == 0) {
            System.out.printf(
                    Locale.ROOT,
                    "epoch %d/%d: test loss %.4f, accuracy %.2f %% of %d samples%n",
                    epoch + 1,
                    options.epochs(),
                    evaluation.loss(),
                    100 * evaluation.accuracy(),
                    evaluation.samples());
        }
    }

    /** Rank 0 writes the file, and has its share only. */
    private void bringStateToRankZero() {
        if (sharded != null && options.checkpoint().isPresent()) {
            sharded.consolidate(0);
        }
    }

    private void printStateBytes() {
        if (sharded != null) {
            long[] bytes = sharded.stateBytesOfRanks();
            if (hvd.rank() == 0) {
                System.out.println("optimizer state in bytes by rank: " + Arrays.toString(bytes));
            }
        }
    }

    private void printResult(int epochs, Evaluation evaluation) {
        long[] peaks =
                (long[]) hvd.allgather("peak memory", io.hvd.tensor.Tensor.of(new long[] {Memory.peakMebibytes()}))
                        .toArray();
        if (hvd.rank() == 0) {
            if (optimizer.skippedSteps() > 0) {
                System.out.printf(
                        "%d steps skipped because of overflows; the loss scale is %s%n",
                        optimizer.skippedSteps(), optimizer.scaler().scale());
            }
            System.out.printf(
                    Locale.ROOT,
                    "%s; peak memory of the ranks' processes in MiB: %s; %s%n",
                    totals.sent(),
                    Arrays.toString(peaks),
                    totals.dataWait());
            System.out.println(totals.result(example, hvd.size(), epochs, evaluation.loss(), evaluation.accuracy()));
        }
>>>>>>> w-review
    }
}
