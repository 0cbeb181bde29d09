package com.example;

import io.hvd.HvdContext;
import io.hvd.ObjectCodec;
import io.hvd.data.DataLoader;
import io.hvd.data.Dataset;
import io.hvd.data.DistributedSampler;
import io.hvd.data.ElasticSampler;
import io.hvd.data.EvalSampler;
import io.hvd.optimizer.ArrayParameters;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.optimizer.Sgd;
import io.hvd.optimizer.torch.StateDict;
import io.hvd.tensor.Tensor;
import io.hvd.train.BroadcastState;
import io.hvd.train.MeanMetric;
import io.hvd.train.Training;
import io.hvd.train.TrainingLoop;
import io.hvd.train.checkpoint.AutoResume;
import io.hvd.train.checkpoint.Checkpoints;
import io.hvd.train.log.LogScalars;
import io.hvd.train.log.RunDescription;
import io.hvd.train.log.RunLog;
import java.io.PrintStream;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.bytedeco.pytorch.AdamW;
import org.bytedeco.pytorch.AdamWOptions;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.OptimizerParamGroup;
import org.bytedeco.pytorch.SequentialImpl;
import org.bytedeco.pytorch.global.torch;

/** Answers to questions that come up in most trainers. */
final class Cookbook {
    private Cookbook() {}

    /** When it is started again, the training goes on from its newest checkpoint, and its record with it. */
    static Training trainWithRecord(HvdContext hvd, Path folder, int epochs) throws Exception {
        float[] slope = {0};
        float[] gradient = {0};
        var optimizer = DistributedOptimizer.wrap(new Sgd(new ArrayParameters().add("slope", slope, gradient), 0.1))
                .build();
        var samples = Dataset.of(IntStream.range(0, 96).boxed().toList());
        var sampler = ElasticSampler.builder(samples.size(), hvd.size(), hvd.rank()).build();
        try (var loader = DataLoader.builder(samples, sampler, batch -> batch).batchSize(8).build();
                var checkpoints = Checkpoints.in(folder.resolve("checkpoints"), hvd, optimizer)
                        .with("sampler", sampler)
                        .build();
                var log = RunLog.resume(hvd, folder.resolve("run"), new RunDescription("line", Map.of("lr", "0.1")))) {
            return log.during(() -> TrainingLoop.of(hvd, optimizer)
                    .with(new BroadcastState(0))
                    .with(AutoResume.everySteps(500, checkpoints, sampler))
                    .with(new LogScalars(log, 8).everySteps(1)) // the curve steps/loss too
                    .run(epochs, loader, (batch, training) -> {
                        optimizer.zeroGradients();
                        training.metrics().add("loss", backward(batch, slope[0], gradient) * batch.size(), batch.size());
                        optimizer.step();
                    }));
        }
    }

    /** The record of a loop of one's own. */
    static void ownLoopWithRecord(HvdContext hvd, Path folder, int epochs) throws Exception {
        float[] slope = {0};
        float[] gradient = {0};
        var optimizer = DistributedOptimizer.wrap(new Sgd(new ArrayParameters().add("slope", slope, gradient), 0.1))
                .build();
        var samples = Dataset.of(IntStream.range(0, 96).boxed().toList());
        var sampler = new DistributedSampler(samples.size(), hvd.size(), hvd.rank());
        try (var loader = DataLoader.builder(samples, sampler, batch -> batch).batchSize(8).build();
                var log = RunLog.open(hvd, folder, new RunDescription("line", Map.of("lr", "0.1")))) {
            log.during(() -> {
                long steps = 0;
                for (int epoch = 0; epoch < epochs; epoch++) {
                    var loss = new MeanMetric("loss");
                    for (List<Integer> batch : log.timed(loader)) {
                        optimizer.zeroGradients();
                        loss.add(backward(batch, slope[0], gradient) * batch.size(), batch.size());
                        optimizer.step();
                        log.clock().stepEnds(batch.size(), optimizer.lastStep().exposedNanos());
                        steps++;
                    }
                    log.epochEnds(epoch, steps, Map.of("loss", loss.reduce(hvd).mean()));
                }
                return steps;
            });
        }
    }

    /** Leaves the gradient of the batch's mean squared error, and returns that error. */
    private static double backward(List<Integer> batch, float slope, float[] gradient) {
        double loss = 0;
        for (int sample : batch) {
            float x = sample / 96f;
            float error = (slope - 3) * x;
            loss += error * error / batch.size();
            gradient[0] += 2 * error * x / batch.size();
        }
        return loss;
    }

    /** Gives the same start weights each time, also to ranks that are threads and so share LibTorch's generator. */
    static <M> M seeded(long seed, Supplier<M> model) {
        synchronized (Cookbook.class) {
            torch.manual_seed(seed);
            return model.get();
        }
    }

    /** The head learns at a tenth of the body's rate, and without weight decay. */
    static AdamW twoRates(Module body, Module head) {
        var adam = new AdamW(body.parameters(), new AdamWOptions(0.01));
        adam.add_param_group(new OptimizerParamGroup(head.parameters()));
        var ofHead = adam.param_groups().get(1).options();
        ofHead.set_lr(0.001); // set here, every value counts
        new AdamWOptions(ofHead).weight_decay().put(0);
        return adam;
    }

    /** The right answers of all ranks' samples, each of which counts once. */
    static double accuracy(HvdContext hvd, SequentialImpl model) {
        var mine = new EvalSampler(Circle.POINTS, hvd.size(), hvd.rank());
        var accuracy = new MeanMetric("accuracy");
        model.eval(); // dropout is off, and batch norms use their running statistics
        try (NoGradGuard noGradients = new NoGradGuard()) {
            accuracy.add(Circle.right(model, mine.indices()), mine.length());
        } finally {
            model.train(true);
        }
        return accuracy.reduce(hvd).mean();
    }

    /** Prints a line of each rank, in the order of the ranks. */
    static void printInOrder(HvdContext hvd, String line, PrintStream out) {
        List<String> lines = hvd.allgatherObject("lines", line, ObjectCodec.utf8());
        if (hvd.rank() == 0) {
            lines.forEach(out::println);
        }
    }

    /** A state of DistributedDataParallel's; what only one of the two has is left as it is. */
    static void loadWhatIsThere(Module model, Map<String, Tensor> saved) {
        var difference = StateDict.load(model, StateDict.withoutPrefix(saved, "module."), false);
        System.out.println("missing: " + difference.missing() + ", unexpected: " + difference.unexpected());
    }
}
