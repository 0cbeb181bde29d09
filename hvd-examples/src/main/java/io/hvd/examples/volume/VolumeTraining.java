package io.hvd.examples.volume;

import io.hvd.HvdContext;
import io.hvd.data.DistributedSampler;
import io.hvd.examples.ExampleFailure;
import io.hvd.examples.StepProgress;
import io.hvd.examples.training.FiniteLoss;
import io.hvd.examples.training.RunTotals;
import io.hvd.examples.training.TorchDevice;
import io.hvd.examples.training.WeightCheck;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.optimizer.torch.TorchBatch;
import io.hvd.optimizer.torch.TorchLoader;
import io.hvd.optimizer.torch.TorchOptimizer;
import io.hvd.optimizer.torch.TorchTensors;
import io.hvd.tensor.Device;
import io.hvd.train.MeanMetric;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Adam;
import org.bytedeco.pytorch.AdamOptions;
import org.bytedeco.pytorch.Tensor;

/** Trains a 3-D UNet on crops of every rank's share of the volumes, and evaluates it on whole ones. */
final class VolumeTraining {
    private static final int WEIGHTS_DIFFER = 1;

    private final HvdContext hvd;
    private final VolumeOptions options;
    private final VolumeData data;
    private final TorchDevice device;
    private final UNet3d model;
    private final DistributedOptimizer optimizer;
    private final CropSample.Source crops;
    private final RunTotals totals = new RunTotals();
    private final List<String> losses = new ArrayList<>();
    private VolumeScores scores;

    VolumeTraining(HvdContext hvd, VolumeOptions options, VolumeData data) {
        this.hvd = hvd;
        this.options = options;
        this.data = data;
        this.device = TorchDevice.of(hvd, options.cuda());
        this.model = device.onto(
                UNetFile.untrained(options.channels(), options.data().seed()));
        this.optimizer = DistributedOptimizer.wrap(new TorchOptimizer(
                        new Adam(model.parameters(), new AdamOptions(options.learningRate())),
                        model.named_parameters()))
                .context(hvd)
                .compression(options.compression())
                .build();
        this.crops = new CropSample.Source(
                data.train().volumes(),
                options.roi(),
                options.crops(),
                options.data().seed());
    }

    /** Trains all epochs and evaluates; rank 0 prints. @return the exit code */
    int run() throws IOException, ExampleFailure {
        optimizer.broadcastParameters(0);
        optimizer.broadcastOptimizerState(0);
        DistributedSampler sampler = DistributedSampler.builder(crops.size(), hvd.size(), hvd.rank())
                .seed(options.data().seed())
                .build();
        int epoch = 0;
        try (TorchLoader<CropSample> loader = TorchLoader.builder(
                        crops, sampler, new CropSample.Layout(options.roi(), options.crops()))
                .batchSize(options.batchSize())
                .workers(options.workers())
                .on(options.cuda() ? hvd.device() : Device.CPU)
                .build()) {
            introduce(loader.batches());
            for (; epoch < options.epochs() && totals.steps() < options.maxSteps(); epoch++) {
                sampler.setEpoch(epoch);
                crops.setEpoch(epoch);
                trainEpoch(loader, epoch);
            }
        }
        return finish(epoch);
    }

    /** The scores of the evaluation at the end. */
    VolumeScores scores() {
        return scores;
    }

    private void introduce(int steps) {
        long parameters = TorchTensors.parameters(model).values().stream()
                .mapToLong(io.hvd.tensor.Tensor::elements)
                .sum();
        say(
                "volumes %s: %d to train on, %d to evaluate",
                data.origin(), crops.size(), data.eval().size());
        say(
                "net of %,d parameters; a step takes %d volumes x %d crops on each of %d ranks, %d crops in all; %d steps per"
                        + " epoch",
                parameters,
                options.batchSize(),
                options.crops(),
                hvd.size(),
                options.batchSize() * options.crops() * hvd.size(),
                steps);
    }

    private void trainEpoch(TorchLoader<CropSample> loader, int epoch) throws ExampleFailure {
        if (options.logInterval() > 0) {
            say("----------");
        }
        long start = System.nanoTime();
        double loss = train(loader, String.format(Locale.ROOT, "epoch %d/%d", epoch + 1, options.epochs()));
        totals.trained((System.nanoTime() - start) / 1e9);
        totals.waited(loader.waitNanos());
        say("epoch %d/%d: mean training loss %.4f", epoch + 1, options.epochs(), loss);
        losses.add(String.format(Locale.ROOT, "%.4f", loss));
        FiniteLoss.require(loss, "the training loss of epoch " + (epoch + 1));
    }

    /** Returns the mean loss over all ranks. */
    private double train(TorchLoader<CropSample> loader, String title) {
        MeanMetric mean = new MeanMetric("training_loss");
        int number = 0;
        try (StepProgress progress = StepProgress.on(hvd.rank() == 0, title, loader.batches())) {
            for (TorchBatch batch : loader) {
                double loss = step(batch);
                mean.add(loss * batch.size(), batch.size());
                progress.step();
                number++;
                if (options.logInterval() > 0 && number % options.logInterval() == 0) {
                    say("%s, step %d/%d: training loss %.4f on rank 0", title, number, loader.batches(), loss);
                }
                if (totals.steps() >= options.maxSteps()) {
                    break;
                }
            }
        }
        return mean.reduce(hvd).mean();
    }

    private double step(TorchBatch batch) {
        try (PointerScope scope = new PointerScope()) {
            optimizer.zeroGradients();
            Tensor loss = DiceLoss.of(
                    model.forward(cubes(batch.fields().get(0))),
                    cubes(batch.fields().get(1)));
            loss.backward();
            optimizer.step();
            totals.stepped(optimizer.lastStep());
            totals.saw(batch.size() * options.crops());
            return loss.item_float();
        }
    }

    /** Makes one batch of the crops of all its volumes. */
    private static Tensor cubes(Tensor field) {
        return field.flatten(0, 1);
    }

    private int finish(int epochs) throws IOException, ExampleFailure {
        WeightCheck weights = WeightCheck.of(hvd, model);
        if (hvd.rank() == 0 && options.checkpoint().isPresent()) {
            new UNetFile(model, options.channels(), options.roi())
                    .write(options.checkpoint().get());
            say("final model saved in %s", options.checkpoint().get());
        }
        scores = new VolumeEvaluation(hvd, device, model, options.window(), options.workers())
                .evaluate(data.eval(), (volume, predicted) -> {});
        FiniteLoss.require(scores.meanLoss(), "the loss of the evaluation");
        say("losses of the epochs: %s", losses);
        say("%s", weights);
        say("%s", totals.dataWait());
        say(
                "mean Dice %.4f of %d volumes with a mask, of %d",
                scores.meanDice(), scores.volumesWithMask(), data.eval().size());
        String result = totals.result("unet3d", data.word(), hvd.size(), epochs, scores.meanLoss(), scores.accuracy());
        say("%s dice=%.4f", result, scores.meanDice());
        return weights.areEqual() ? 0 : WEIGHTS_DIFFER;
    }

    private void say(String format, Object... values) {
        if (hvd.rank() == 0) {
            System.out.printf(Locale.ROOT, format + "%n", values);
        }
    }
}
