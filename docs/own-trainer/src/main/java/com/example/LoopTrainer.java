package com.example;

import io.hvd.Elastic;
import io.hvd.HvdContext;
import io.hvd.data.DataLoader;
import io.hvd.data.Dataset;
import io.hvd.data.DistributedSampler;
import io.hvd.data.ElasticSampler;
import io.hvd.optimizer.ArrayParameters;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.optimizer.Sgd;
import io.hvd.tensor.Tensor;
import io.hvd.train.BroadcastState;
import io.hvd.train.Checkpoint;
import io.hvd.train.EarlyStop;
import io.hvd.train.EpochMetrics;
import io.hvd.train.Goal;
import io.hvd.train.LearningRate;
import io.hvd.train.SaveCheckpoint;
import io.hvd.train.Schedule;
import io.hvd.train.Training;
import io.hvd.train.TrainingLoop;
import io.hvd.train.checkpoint.AutoResume;
import io.hvd.train.checkpoint.Checkpoints;
import io.hvd.train.checkpoint.CommitState;
import io.hvd.train.checkpoint.TrainingState;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.IntStream;

/** Fits y = 3x + 1 by a loop with callbacks, on plain arrays. */
final class LoopTrainer {
    final float[] slope = {0};
    final float[] offset = {0};
    private final float[] slopeGradient = new float[1];
    private final float[] offsetGradient = new float[1];

    Training train(HvdContext hvd, Path best) {
        var parameters = new ArrayParameters()
                .add("slope", slope, slopeGradient)
                .add("offset", offset, offsetGradient);
        var optimizer = DistributedOptimizer.wrap(Sgd.nesterov(parameters, 0.3, 0.5, 0))
                .clipGradientNorm(10)  // clips the averaged gradients, alike on all ranks
                .build();
        var samples = Dataset.of(IntStream.range(0, 96).boxed().toList());
        var sampler = new DistributedSampler(samples.size(), hvd.size(), hvd.rank());
        try (var loader = DataLoader.builder(samples, sampler, batch -> batch).batchSize(8).build()) {
            return TrainingLoop.of(hvd, optimizer)
                    .with(new BroadcastState(0))
                    .with(new LearningRate(Schedule.cosine(0.3, 0.1, 90).warmUp(hvd.size(), 5)))
                    .with(new EarlyStop(Goal.smallest("loss").by(1e-9), 5))
                    .with(SaveCheckpoint.best(Goal.smallest("loss"), best, this::checkpoint))
                    .run(90, loader, (batch, training) -> {
                        optimizer.zeroGradients();
                        backward(batch, training.metrics());
                        optimizer.step();
                    });
        }
    }

    /** Goes on from the newest checkpoint in the folder, with any number of ranks. */
    Training trainOn(HvdContext hvd, Path folder, int epochs) {
        var parameters = new ArrayParameters()
                .add("slope", slope, slopeGradient)
                .add("offset", offset, offsetGradient);
        var optimizer = DistributedOptimizer.wrap(new Sgd(parameters, 0.1)).build();
        var samples = Dataset.of(IntStream.range(0, 96).boxed().toList());
        var sampler = ElasticSampler.builder(samples.size(), hvd.size(), hvd.rank()).build();
        try (var loader = DataLoader.builder(samples, sampler, batch -> batch).batchSize(8).build();
                var checkpoints = Checkpoints.in(folder, hvd, optimizer).with("sampler", sampler).keep(3).build()) {
            return TrainingLoop.of(hvd, optimizer)
                    .with(new BroadcastState(0))
                    .with(AutoResume.everySteps(500, checkpoints, sampler))
                    .run(epochs, loader, (batch, training) -> {
                        optimizer.zeroGradients();
                        backward(batch, training.metrics());
                        optimizer.step();
                    });
        }
    }

    /** In an elastic job: each generation goes on where the one before has ended, in the middle of an epoch. */
    void trainElastic(int epochs) throws Exception {
        var parameters = new ArrayParameters()
                .add("slope", slope, slopeGradient)
                .add("offset", offset, offsetGradient);
        var samples = Dataset.of(IntStream.range(0, 96).boxed().toList());
        var sampler = ElasticSampler.builder(samples.size()).build();
        var stop = new EarlyStop(Goal.smallest("loss").by(1e-9), 5);
        var state = TrainingState.of(hvd -> DistributedOptimizer.wrap(new Sgd(parameters, 0.1)).build())
                .with("sampler", sampler)
                .with("early_stop", stop)
                .build();
        Elastic.run(state, elastic -> {
            try (var loader = DataLoader.builder(samples, sampler, batch -> batch).batchSize(8).build()) {
                TrainingLoop.of(elastic.context(), state.optimizer())
                        .with(new CommitState(elastic, state))
                        .with(stop)
                        .run(epochs, loader, (batch, training) -> {
                            state.optimizer().zeroGradients();
                            backward(batch, training.metrics());
                            state.optimizer().step();
                        });
            }
        });
    }

    /** Adds the squared errors to the metric, which the loop averages over the samples of all ranks. */
    private void backward(List<Integer> batch, EpochMetrics metrics) {
        for (int sample : batch) {
            float x = sample / 96f;
            float error = slope[0] * x + offset[0] - (3 * x + 1);
            offsetGradient[0] += 2 * error / batch.size();
            slopeGradient[0] += 2 * error * x / batch.size();
            metrics.add("loss", error * error, 1);
        }
    }

    private Checkpoint checkpoint(Training training) {
        var tensors = new TreeMap<>(Map.of("slope", Tensor.of(slope), "offset", Tensor.of(offset)));
        return new Checkpoint(tensors, Map.of("epochs", "" + (training.epoch() + 1)))
                .withState("optimizer", training.optimizer().wholeState());
    }
}
