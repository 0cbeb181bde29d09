package com.example;

import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.data.DataLoader;
import io.hvd.data.Dataset;
import io.hvd.data.ElasticSampler;
import io.hvd.optimizer.ArrayParameters;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.optimizer.Sgd;
import io.hvd.train.BroadcastState;
import io.hvd.train.Callback;
import io.hvd.train.Training;
import io.hvd.train.TrainingLoop;
import io.hvd.train.checkpoint.AutoResume;
import io.hvd.train.checkpoint.Checkpoints;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;

/** Trains in the background, one training after the other, as a service does. */
final class TrainingService implements AutoCloseable {
    private final ExecutorService pool = Executors.newSingleThreadExecutor();
    private volatile Training running; // that of one of the ranks
    private volatile boolean closing;

    Future<Training> begin(Path folder, int epochs) {
        return pool.submit(() -> Hvd.spawn(2, hvd -> train(hvd, folder, epochs)).get(0));
    }

    /** Has the training under way end with a checkpoint; a request for it may come on any thread. */
    boolean cancel(String why) {
        Training training = running;
        if (training != null) {
            training.cancel(why);
        }
        return training != null;
    }

    /** For the end of the service, such as a method with @PreDestroy. */
    @Override
    public void close() throws InterruptedException {
        closing = true;
        pool.shutdown();
        if (!pool.awaitTermination(20, TimeUnit.SECONDS)) {
            pool.shutdownNow(); // as future.cancel(true): the ranks end where they are, without a checkpoint
            pool.awaitTermination(5, TimeUnit.SECONDS);
        }
    }

    private final class Remote implements Callback {
        @Override
        public void trainingBegins(Training training) {
            running = training;
            training.cancelWhen(() -> closing ? "the service is closing" : null);
        }

        @Override
        public void trainingEnds(Training training) {
            running = null;
        }

        @Override
        public void trainingFails(Training training) {
            running = null;
        }
    }

    private Training train(HvdContext hvd, Path folder, int epochs) {
        float[] slope = {0};
        float[] gradient = {0};
        var optimizer = DistributedOptimizer.wrap(new Sgd(new ArrayParameters().add("slope", slope, gradient), 0.1))
                .build();
        var samples = Dataset.of(IntStream.range(0, 96).boxed().toList());
        var sampler = ElasticSampler.builder(samples.size(), hvd.size(), hvd.rank()).build();
        try (var loader = DataLoader.builder(samples, sampler, batch -> batch).batchSize(8).build();
                var checkpoints = Checkpoints.in(folder, hvd, optimizer).with("sampler", sampler).build()) {
            return TrainingLoop.of(hvd, optimizer)
                    .with(new BroadcastState(0))
                    .with(AutoResume.everySteps(500, checkpoints, sampler))
                    .with(new Remote())
                    .run(epochs, loader, (batch, training) -> {
                        optimizer.zeroGradients();
                        gradient[0] = gradient(batch, slope[0]);
                        optimizer.step();
                    });
        }
    }

    private static float gradient(List<Integer> batch, float slope) {
        float sum = 0;
        for (int sample : batch) {
            float x = sample / 96f;
            sum += 2 * (slope - 3) * x * x / batch.size();
        }
        return sum;
    }
}
