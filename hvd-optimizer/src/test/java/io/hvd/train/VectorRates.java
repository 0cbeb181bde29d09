package io.hvd.train;

import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.optimizer.ArrayParameters;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.optimizer.Sgd;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;

/** Trains by Horovod's warm-up and by the schedule of its ImageNet example, for 4 ranks, and says which rates the optimizer was given. */
final class VectorRates {
    static final String WARM_UP = "0.010000 0.025000 0.040000";
    static final String IMAGE_NET = "0.050000 0.005000 0.000500 0.000050";

    private VectorRates() {}

    /** The warm-up: an initial rate of 0.04 over 5 epochs, at the epochs 0, 2.5 and 5. */
    static String warmUp(HvdContext hvd) {
        return at(hvd, Schedule.fixed(0.04).warmUp(hvd.size(), 5), 6, List.of(0.0, 2.5, 5.0));
    }

    /** Horovod's ImageNet example with 1 batch per allreduce, at the epochs 10, 30, 60 and 80. */
    static String imageNet(HvdContext hvd) {
        Schedule schedule =
                Schedule.multiFactor(0.0125 * hvd.size(), 0.1, 30, 60, 80).warmUp(hvd.size(), 5);
        return at(hvd, schedule, 81, List.of(10.0, 30.0, 60.0, 80.0));
    }

    private static String at(HvdContext hvd, Schedule schedule, int epochs, List<Double> places) {
        DistributedOptimizer optimizer = DistributedOptimizer.wrap(
                        new Sgd(new ArrayParameters().add("w", new float[1], new float[1]), 1))
                .build();
        List<Double> rates = new ArrayList<>();
        TrainingLoop.of(hvd, optimizer)
                .with(new LearningRate(schedule))
                .run(epochs, Collections.nCopies(2, 0), 2, (batch, training) -> {
                    if (places.contains(training.progress())) {
                        rates.add(optimizer.learningRate());
                    }
                    optimizer.step();
                });
        return rates.stream()
                .map(rate -> String.format(Locale.ROOT, "%.6f", rate))
                .collect(Collectors.joining(" "));
    }

    public static void main(String[] args) throws Exception {
        try (HvdContext hvd = Hvd.init()) {
            System.out.println("rank " + hvd.rank() + " warm-up " + warmUp(hvd));
            System.out.println("rank " + hvd.rank() + " ImageNet " + imageNet(hvd));
        }
    }
}
