package io.hvd.train.checkpoint;

import io.hvd.HvdContext;
import io.hvd.data.DataLoader;
import io.hvd.data.Dataset;
import io.hvd.data.ElasticSampler;
import io.hvd.data.ShardRandom;
import io.hvd.optimizer.ArrayParameters;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.optimizer.Sgd;
import io.hvd.train.Callback;
import io.hvd.train.PaddingMask;
import io.hvd.train.Training;
import io.hvd.train.TrainingLoop;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.stream.IntStream;

/** Fits a line to 101 points on plain arrays, each point with the same weight, and notes which it has seen in which step. */
final class LineFit {
    static final int POINTS = 101;
    static final int BATCH = 2;

    /** A point that this rank has trained on. @param step counted over all runs, from 1 */
    record Seen(int epoch, long step, int point) {}

    final List<Seen> seen = new ArrayList<>();
    /** The mean of all points at the end of each epoch of this run. */
    final List<Double> losses = new ArrayList<>();

    final float[] slope = {0};
    final float[] offset = {0};
    private final float[] slopeGradient = new float[1];
    private final float[] offsetGradient = new float[1];
    private final HvdContext hvd;
    private final DistributedOptimizer optimizer;
    private final ElasticSampler sampler;
    private final PaddingMask mask;
    /** The first number of each step and logical shard that this rank was dealt. */
    final Map<String, Long> drawn = new TreeMap<>();

    AutoResume autoResume;
    /** Null if the program begins to listen with the loop. */
    TerminationSignal early;

    LineFit(HvdContext hvd) {
        this.hvd = hvd;
        var parameters =
                new ArrayParameters().add("slope", slope, slopeGradient).add("offset", offset, offsetGradient);
        optimizer = DistributedOptimizer.wrap(new Sgd(parameters, 0.1, 0.5, 0))
                .weightByBatchSize()
                .build();
        sampler = ElasticSampler.builder(POINTS, hvd.size(), hvd.rank()).seed(3).build();
        mask = new PaddingMask(sampler);
    }

    void draw(ShardRandom random, long step) {
        for (int shard : random.shards(hvd.rank(), hvd.size())) {
            drawn.put(step + "/" + shard, random.of(step, shard).nextLong());
        }
    }

    /** In a folder of the name {@code sets} every rank writes its share. */
    CheckpointsBuilder checkpoints(Path folder) {
        CheckpointsBuilder builder =
                Checkpoints.in(folder, hvd, optimizer).with("sampler", sampler).config("data", "line");
        return folder.endsWith("sets") ? builder.everyRankWrites() : builder;
    }

    Training train(int epochs, int every, Checkpoints checkpoints, Consumer<Training> afterStep, Callback... others) {
        autoResume = AutoResume.everySteps(every, checkpoints, sampler);
        if (early != null) {
            autoResume.listening(early);
        }
        Dataset<Integer> points = Dataset.of(IntStream.range(0, POINTS).boxed().toList());
        try (var loader = DataLoader.<Integer, List<Integer>>builder(points, sampler, List::copyOf)
                .batchSize(BATCH)
                .workers(1)
                .build()) {
            TrainingLoop loop = TrainingLoop.of(hvd, optimizer).with(autoResume).with(mask);
            List.of(others).forEach(loop::with);
            return loop.evaluation(training -> losses.add(loss())).run(epochs, loader, (batch, training) -> {
                step(batch, training);
                afterStep.accept(training);
            });
        }
    }

    private void step(List<Integer> batch, Training training) {
        List<Integer> counted = batch.subList(0, mask.counted(batch.size()));
        optimizer.zeroGradients();
        optimizer.batchSize(counted.size());
        for (int point : counted) {
            float x = point / (float) POINTS;
            float error = slope[0] * x + offset[0] - (3 * x + 1);
            offsetGradient[0] += 2 * error / counted.size();
            slopeGradient[0] += 2 * error * x / counted.size();
            seen.add(new Seen(training.epoch(), training.steps() + 1, point));
        }
        optimizer.step();
    }

    private double loss() {
        return IntStream.range(0, POINTS)
                .mapToDouble(point -> Math.pow((slope[0] - 3) * point / POINTS + offset[0] - 1, 2))
                .average()
                .orElseThrow();
    }
}
