package io.hvd.examples.image;

import io.hvd.HvdContext;
import io.hvd.data.DistributedSampler;
import io.hvd.examples.ExampleFailure;
import io.hvd.examples.data.ImageSample;
import io.hvd.examples.data.ImageSets;
import io.hvd.examples.training.FiniteLoss;
import io.hvd.examples.training.RunTotals;
import io.hvd.optimizer.torch.TorchBatch;
import io.hvd.optimizer.torch.TorchLoader;
import io.hvd.optimizer.torch.TorchTensors;
import java.io.IOException;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import org.apache.commons.cli.ParseException;

/** Trains a residual net on every rank's share of each batch, and evaluates it on every test image once. */
final class CifarTraining implements AutoCloseable {
    private static final String BEST = "best_accuracy";
    private static final int LARGEST_TEST_BATCH = 256;

    private final HvdContext hvd;
    private final CifarOptions options;
    private final CifarOptions.Schedule schedule;
    private final ImageSets images;
    private final int batchPerRank;
    private final CifarSteps steps;
    private final TrainingCheckpoint checkpoint;
    private final Evaluator evaluator;
    private final CifarReport report;
    private final RunTotals totals = new RunTotals();
    private final RunRecord record;
    private Predictions predictions;
    private double best;

    /** @throws ParseException if the batch cannot be dealt evenly to the ranks, or several devices of one process to several ranks */
    CifarTraining(HvdContext hvd, CifarOptions options, ImageSets images) throws ParseException {
        this.hvd = hvd;
        this.options = options;
        this.schedule = options.schedule();
        this.images = images;
        this.batchPerRank = options.batchPerRank(hvd.size());
        this.steps = new CifarSteps(hvd, options, totals);
        this.checkpoint = new TrainingCheckpoint(
                hvd, steps.model(), steps.optimizer(), options.results().checkpoint());
        int largest = Math.min(batchPerRank, LARGEST_TEST_BATCH);
        this.evaluator = new Evaluator(hvd, images, steps.device(), steps.model(), largest, options.workers());
        this.report = new CifarReport(hvd);
        this.record = new RunRecord(hvd, "cifar10", options.results().run());
    }

    /**
     * Trains or evaluates, as the flags say; rank 0 prints.
     *
     * @throws ExampleFailure on all ranks, as soon as they find a loss that is not a finite number
     * @return the last evaluation, the same on every rank
     */
    Evaluation run() throws IOException, ParseException, ExampleFailure {
        return record.during(this::trainOrEvaluate);
    }

    private Evaluation trainOrEvaluate() throws IOException, ExampleFailure {
        long parameters = TorchTensors.parameters(steps.model()).values().stream()
                .mapToLong(io.hvd.tensor.Tensor::elements)
                .sum();
        report.start(options, parameters, images.train().size(), images.test().size(), batchPerRank);
        int epoch = restore();
        Evaluation last = Evaluation.NONE;
        if (!options.results().evaluateOnly()) {
            try (TorchLoader<ImageSample> loader = loader(epoch)) {
                record.begins((long) epoch * loader.batches());
                for (; epoch < schedule.epochs() && totals.steps() < schedule.maxSteps(); epoch++) {
                    last = runEpoch(loader, epoch);
                }
            }
        }
        Evaluation end = predictions == null ? evaluate() : last;
        FiniteLoss.require(end.loss(), "the test loss");
        finish(epoch, end);
        return end;
    }

    /** Brings all ranks to the same state; returns the epoch to begin with. */
    private int restore() throws IOException {
        CifarOptions.Results results = options.results();
        boolean needed = results.evaluateOnly() && results.checkpoint().isPresent();
        Map<String, String> words = results.resume() || needed ? checkpoint.restore(needed) : Map.of();
        steps.optimizer().broadcastParameters(0);
        hvd.broadcastParameters(steps.model().statistics(), 0);
        steps.optimizer().broadcastOptimizerState(0);
        best = Double.parseDouble(words.getOrDefault(BEST, "-1"));
        String saved = words.get(TrainingCheckpoint.EPOCHS);
        return saved == null ? schedule.firstEpoch() : Integer.parseInt(saved);
    }

    private TorchLoader<ImageSample> loader(int firstEpoch) {
        DistributedSampler sampler = DistributedSampler.builder(images.train().size(), hvd.size(), hvd.rank())
                .seed(options.seed())
                .build();
        sampler.setEpoch(firstEpoch);
        return TorchLoader.builder(images.train(), sampler, new ImageTensors(images))
                .batchSize(batchPerRank)
                .workers(options.workers())
                .on(steps.device().of(hvd))
                .build();
    }

    private Evaluation runEpoch(TorchLoader<ImageSample> loader, int epoch) throws IOException, ExampleFailure {
        Instant begun = Instant.now();
        long start = System.nanoTime();
        steps.optimizer().learningRate(schedule.learningRate(epoch));
        long before = totals.steps();
        double trainingLoss = train(loader, epoch);
        totals.trained(secondsSince(start));
        totals.waited(loader.waitNanos());
        Evaluation evaluation = evaluate();
        report.epoch(epoch, schedule.epochs(), trainingLoss, evaluation, secondsSince(start));
        record.epochEnds(epoch, evaluation);
        FiniteLoss.require(evaluation.loss(), "the test loss after epoch " + (epoch + 1));
        if (hvd.rank() == 0 && options.results().epochCsv().isPresent()) {
            new EpochCsv(options.results().epochCsv().get()).add(begun, secondsSince(start));
        }
        if (totals.steps() - before == loader.batches()) {
            save(epoch + 1, evaluation);
        }
        return evaluation;
    }

    /** Returns the mean loss over all ranks. */
    private double train(TorchLoader<ImageSample> loader, int epoch) throws ExampleFailure {
        StepFigures figures = new StepFigures();
        steps.model().train(true);
        int step = 0;
        long last = System.nanoTime();
        record.epochBegins();
        for (TorchBatch batch : loader) {
            record.batchArrives();
            double waited = secondsSince(last);
            List<BatchResult> results = steps.run(batch);
            figures.add(results, secondsSince(last), waited);
            record.stepEnds(
                    batch.size(),
                    BatchResult.meanLoss(results),
                    steps.optimizer().lastStep().exposedNanos());
            last = System.nanoTime();
            step++;
            if (step % options.results().printFreq() == 0) {
                StepFigures.Reading reading = figures.ofAllRanks(hvd);
                report.trainingStep(epoch, schedule.epochs(), step, loader.batches(), reading);
                FiniteLoss.require(
                        reading.loss().last(), "the training loss of step " + step + " in epoch " + (epoch + 1));
            }
            if (totals.steps() >= schedule.maxSteps()) {
                break;
            }
        }
        return FiniteLoss.require(
                figures.ofAllRanks(hvd).loss().average(), "the training loss of epoch " + (epoch + 1));
    }

    /**
     * Evaluates the model with rank 0's running statistics, which will be saved; without {@code --sync-bn} each rank has its own
     * in training.
     */
    private Evaluation evaluate() {
        hvd.broadcastParameters(steps.model().statistics(), 0);
        predictions = new Predictions(evaluator.sampler().indices());
        StepFigures figures = new StepFigures();
        long[] last = {System.nanoTime()};
        int[] step = {0};
        return evaluator.evaluate(result -> {
            predictions.accept(result);
            figures.add(result, secondsSince(last[0]), 0);
            last[0] = System.nanoTime();
            if (++step[0] % options.results().printFreq() == 0) {
                report.evaluationStep(step[0], evaluator.batches(), figures.own());
            }
        });
    }

    private void save(int epochsDone, Evaluation evaluation) throws IOException {
        boolean isBest = evaluation.accuracy() > best;
        best = Math.max(best, evaluation.accuracy());
        Map<String, String> words = Map.of(
                TrainingCheckpoint.EPOCHS,
                String.valueOf(epochsDone),
                BEST,
                String.valueOf(best),
                "arch",
                options.net().arch());
        checkpoint.save(words, isBest);
    }

    private void finish(int epochs, Evaluation end) throws IOException {
        List<Predictions.Row> rows = predictions.ofAllRanks(hvd);
        if (hvd.rank() == 0 && options.results().predictions().isPresent()) {
            Predictions.write(rows, options.results().predictions().get());
        }
        if (hvd.rank() == 0) {
            TrainingReport.printSkippedSteps(steps.optimizer());
        }
        report.end(end);
        report.spread(options.mode(), steps.memory(), totals.secondsPerEpoch());
        report.result(images.origin(), options.mode(), epochs, end, totals);
    }

    @Override
    public void close() {
        steps.close();
    }

    private static double secondsSince(long nanos) {
        return (System.nanoTime() - nanos) / 1e9;
    }
}
