package io.hvd.examples.image;

import static org.bytedeco.pytorch.global.torch.nll_loss;

import io.hvd.HvdContext;
import io.hvd.data.DistributedSampler;
import io.hvd.examples.data.ImageSample;
import io.hvd.examples.data.ImageSets;
import io.hvd.examples.training.RunTotals;
import io.hvd.examples.training.SeededModule;
import io.hvd.examples.training.TorchDevice;
import io.hvd.optimizer.Adadelta;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.optimizer.torch.StateDict;
import io.hvd.optimizer.torch.TorchBatch;
import io.hvd.optimizer.torch.TorchLoader;
import io.hvd.optimizer.torch.TorchOptimizer;
import io.hvd.tensor.Device;
import io.hvd.tensor.Tensor;
import io.hvd.train.BroadcastState;
import io.hvd.train.Checkpoint;
import io.hvd.train.Goal;
import io.hvd.train.LearningRate;
import io.hvd.train.Logging;
import io.hvd.train.Memory;
import io.hvd.train.Plateau;
import io.hvd.train.SaveCheckpoint;
import io.hvd.train.TerminateOnNaN;
import io.hvd.train.TimeMeasure;
import io.hvd.train.Training;
import io.hvd.train.TrainingLoop;
import io.hvd.train.log.LogScalars;
import io.hvd.train.log.RunLog;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.Consumer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Adam;
import org.bytedeco.pytorch.AdamOptions;

/** Horovod's Keras example: everything besides a step is a callback of a {@link TrainingLoop}. */
final class CallbacksTraining {
    private static final String TEST_LOSS = "test loss";
    private static final int BATCHES_BETWEEN_CHECKS = 20;
    private static final double TENTH = 0.1;
    /** The distance of the points of curves within epochs. */
    private static final int STEPS_BETWEEN_CURVES = 5;

    private final HvdContext hvd;
    private final CallbacksOptions options;
    private final ImageSets images;
    private final Consumer<String> out;
    private final TorchDevice device;
    private final ImageClassifier model;
    /** Empty for Adam, which LibTorch has. */
    private final Optional<ArrayWeights> arrays;

    private final DistributedOptimizer optimizer;
    private final Evaluator evaluator;
    private final RunTotals totals = new RunTotals();

    /** @param out gets the lines of rank 0 */
    CallbacksTraining(HvdContext hvd, CallbacksOptions options, ImageSets images, Consumer<String> out) {
        this.hvd = hvd;
        this.options = options;
        this.images = images;
        this.out = out;
        this.device = TorchDevice.of(hvd, options.cuda());
        this.model = device.onto(SeededModule.seeded(options.seed(), CallbacksNet::new));
        model.seedDropout(options.seed() + 1 + hvd.rank());
        double rate = options.schedule(hvd.size()).rate(0);
        this.arrays = options.adadelta() ? Optional.of(new ArrayWeights(model)) : Optional.empty();
        this.optimizer = DistributedOptimizer.wrap(
                        arrays.isPresent()
                                ? new Adadelta(arrays.get().parameters(), rate)
                                : new TorchOptimizer(
                                        new Adam(model.parameters(), new AdamOptions(rate)), model.named_parameters()))
                .build();
        this.evaluator = new Evaluator(hvd, images, device, model, options.batchSize(), 0);
    }

    /** @throws Exception of the training, which the record of the run names if there is one */
    Training run() throws Exception {
        Optional<RunLog> opened = options.run().open(hvd, MnistCallbacksExample.NAME, 0);
        if (opened.isEmpty()) {
            return train(opened);
        }
        try (RunLog log = opened.get()) {
            return log.during(() -> train(opened));
        }
    }

    private Training train(Optional<RunLog> log) {
        int steps = options.steps(hvd.size());
        DistributedSampler sampler = DistributedSampler.builder(images.train().size(), hvd.size(), hvd.rank())
                .seed(options.seed())
                .build();
        long begun = System.nanoTime();
        try (TorchLoader<ImageSample> loader = TorchLoader.builder(images.train(), sampler, new ImageTensors(images))
                .batchSize(options.batchSize())
                .on(options.cuda() ? hvd.device() : Device.CPU)
                .build()) {
            Training end = loop(log).run(options.epochs(), new EndlessBatches<>(loader, steps), steps, this::step);
            totals.trained((System.nanoTime() - begun) / 1e9);
            printResult(end);
            return end;
        }
    }

    private TrainingLoop loop(Optional<RunLog> log) {
        LearningRate rate = new LearningRate(options.schedule(hvd.size()));
        if (options.patience() > 0) {
            rate.reducedOn(new Plateau(Goal.smallest(TEST_LOSS), TENTH, options.patience(), 0));
        }
        TrainingLoop loop = TrainingLoop.of(hvd, optimizer)
                .with(new BroadcastState(0))
                .with(rate)
                .with(new TerminateOnNaN(BATCHES_BETWEEN_CHECKS))
                .with(new TimeMeasure())
                .with(logging().withWarmUp(options.warmUpEpochs()))
                .with(new Memory(out))
                .evaluation(this::evaluate);
        log.ifPresent(record -> loop.with(new LogScalars(record, options.batchSize())
                .everySteps(STEPS_BETWEEN_CURVES)
                .withGradientNorm()));
        options.checkpoint().ifPresent(file -> loop.with(SaveCheckpoint.everyEpochs(1, file, this::checkpoint)));
        return loop;
    }

    private Logging logging() {
        return options.logInterval() > 0 ? Logging.progress(options.logInterval()) : Logging.to(out);
    }

    private void step(TorchBatch batch, Training training) {
        try (PointerScope scope = new PointerScope()) {
            model.train(true);
            optimizer.zeroGradients();
            arrays.ifPresent(ArrayWeights::toModel);
            var output = model.forward(batch.fields().get(ImageTensors.IMAGES));
            var loss = nll_loss(output, batch.fields().get(ImageTensors.LABELS));
            TorchOptimizer.backward(loss);
            arrays.ifPresent(ArrayWeights::takeGradients);
            optimizer.step();
            training.metrics().add("loss", loss.item_float() * (double) batch.size(), batch.size());
        }
        totals.stepped(optimizer.lastStep());
        totals.saw(batch.size());
    }

    /** Each test image counts once, on one rank. */
    private void evaluate(Training training) {
        arrays.ifPresent(ArrayWeights::toModel);
        evaluator.evaluate(batch -> {
            training.metrics().add(TEST_LOSS, batch.lossSum(), batch.samples());
            training.metrics().add("test accuracy", batch.top1(), batch.samples());
        });
    }

    private Checkpoint checkpoint(Training training) {
        TreeMap<String, Tensor> tensors = new TreeMap<>();
        StateDict.of(model).forEach((name, tensor) -> tensors.put("model." + name, tensor));
        return new Checkpoint(tensors, Map.of("epochs", String.valueOf(training.epoch() + 1)))
                .withState("optimizer", optimizer.wholeState());
    }

    private void printResult(Training end) {
        if (hvd.rank() == 0) {
            out.accept(totals.result(
                    MnistCallbacksExample.NAME,
                    images.origin(),
                    hvd.size(),
                    end.epoch(),
                    end.result(TEST_LOSS).mean(),
                    end.result("test accuracy").mean()));
        }
    }
}
