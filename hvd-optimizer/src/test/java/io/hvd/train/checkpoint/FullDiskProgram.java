package io.hvd.train.checkpoint;

import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.data.DataLoader;
import io.hvd.data.Dataset;
import io.hvd.data.ElasticSampler;
import io.hvd.optimizer.ArrayParameters;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.optimizer.Sgd;
import io.hvd.train.Training;
import io.hvd.train.TrainingLoop;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;

/**
 * Trains a model of a mebibyte whose weights are minus the number of its steps, with AutoResume after each step and nothing deleted.
 * Its arguments are the folder, and {@code train} or {@code resume}.
 */
final class FullDiskProgram {
    private static final int WEIGHTS = 262_144;
    private static final int STEPS = 200;

    private FullDiskProgram() {}

    public static void main(String[] args) throws Exception {
        try (HvdContext hvd = Hvd.init()) {
            float[] weights = new float[WEIGHTS];
            float[] gradients = new float[WEIGHTS];
            var optimizer = DistributedOptimizer.wrap(
                            new Sgd(new ArrayParameters().add("weights", weights, gradients), 1))
                    .build();
            ElasticSampler sampler = ElasticSampler.builder(STEPS * hvd.size(), hvd.size(), hvd.rank())
                    .build();
            try (Checkpoints checkpoints = Checkpoints.in(Path.of(args[0]), hvd, optimizer)
                    .with("sampler", sampler)
                    .keep(Integer.MAX_VALUE)
                    .build()) {
                if (args[1].equals("resume")) {
                    long step = checkpoints.resumeLatest().orElseThrow().step();
                    // as one piece, beside which another rank's may come
                    System.out.println("RESUMED rank=" + hvd.rank() + " step=" + step + " first=" + weights[0]
                            + " last=" + weights[WEIGHTS - 1]);
                    return;
                }
                train(hvd, optimizer, checkpoints, sampler, gradients);
            }
        }
    }

    private static void train(
            HvdContext hvd,
            DistributedOptimizer optimizer,
            Checkpoints checkpoints,
            ElasticSampler sampler,
            float[] gradients) {
        Dataset<Integer> samples =
                Dataset.of(IntStream.range(0, STEPS * hvd.size()).boxed().toList());
        try (var loader = DataLoader.<Integer, List<Integer>>builder(samples, sampler, List::copyOf)
                .batchSize(1)
                .build()) {
            Training end = TrainingLoop.of(hvd, optimizer)
                    .with(AutoResume.everySteps(1, checkpoints, sampler))
                    .run(1, loader, (batch, training) -> {
                        optimizer.zeroGradients();
                        Arrays.fill(gradients, 1);
                        optimizer.step();
                    });
            System.out.println("TRAINED " + end.steps());
        }
    }
}
