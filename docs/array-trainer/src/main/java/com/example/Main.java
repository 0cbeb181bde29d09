package com.example;

import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.data.DistributedSampler;
import io.hvd.optimizer.ArrayParameters;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.optimizer.Sgd;
import java.util.Locale;

/** Fits y = 3x + 1. The argument is the number of ranks as threads; without it, the launcher has started the ranks. */
public class Main {
    private static final int SAMPLES = 96;

    public static void main(String[] args) {
        if (args.length > 0) {
            Hvd.spawn(Integer.parseInt(args[0]), Main::train);
        } else {
            try (HvdContext hvd = Hvd.init()) {
                train(hvd);
            }
        }
    }

    private static Void train(HvdContext hvd) {
        float[] line = {hvd.rank(), 0};
        float[] gradient = new float[2];
        var parameters = new ArrayParameters().add("line", line, gradient);
        var optimizer = DistributedOptimizer.wrap(new Sgd(parameters, 0.2)).build();
        optimizer.broadcastParameters(0);
        var sampler = new DistributedSampler(SAMPLES, hvd.size(), hvd.rank());
        for (int step = 0; step < 300; step++) {
            optimizer.zeroGradients();
            int[] mine = sampler.beginEpoch();
            for (int sample : mine) {
                float x = sample / (float) SAMPLES;
                float error = line[0] * x + line[1] - (3 * x + 1);
                gradient[0] += 2 * error * x / mine.length;
                gradient[1] += 2 * error / mine.length;
            }
            optimizer.gradientReady("line");
            optimizer.step();
        }
        if (hvd.rank() == 0) {
            System.out.printf(Locale.ROOT, "ranks=%d slope=%.2f offset=%.2f%n", hvd.size(), line[0], line[1]);
        }
        return null;
    }
}
