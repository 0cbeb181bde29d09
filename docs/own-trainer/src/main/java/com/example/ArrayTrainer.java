package com.example;

import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.data.DistributedSampler;
import io.hvd.optimizer.ArrayParameters;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.optimizer.Sgd;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/** Fits y = 3x + 1 with plain arrays, without LibTorch. With the argument "threads", four ranks run in one JVM. */
public class ArrayTrainer {
    private static final int SAMPLES = 96;

    public static void main(String[] args) {
        if (List.of(args).contains("threads")) {
            List<float[]> lines = Hvd.spawn(4, hvd -> train(hvd)); // four ranks, one result each
            lines.forEach(line -> System.out.println(Arrays.toString(line)));
        } else {
            try (HvdContext hvd = Hvd.init()) {
                print(hvd, train(hvd));
            }
        }
    }

    static float[] train(HvdContext hvd) {
        float[] slope = {hvd.rank()};
        float[] offset = {0};
        float[] slopeGradient = new float[1];
        float[] offsetGradient = new float[1];
        var parameters = new ArrayParameters()
                .add("slope", slope, slopeGradient)
                .add("offset", offset, offsetGradient);
        var optimizer = DistributedOptimizer.wrap(new Sgd(parameters, 0.2)).build();
        optimizer.broadcastParameters(0);
        var sampler = new DistributedSampler(SAMPLES, hvd.size(), hvd.rank());
        for (int step = 0; step < 300; step++) {
            optimizer.zeroGradients();
            int[] mine = sampler.beginEpoch();
            float[] errors = errors(mine, slope[0], offset[0]);
            for (int i = 0; i < mine.length; i++) {
                offsetGradient[0] += 2 * errors[i] / mine.length;
            }
            optimizer.gradientReady("offset"); // travels while the next one is computed
            for (int i = 0; i < mine.length; i++) {
                slopeGradient[0] += 2 * errors[i] * x(mine[i]) / mine.length;
            }
            optimizer.gradientReady("slope");
            optimizer.step();
        }
        return new float[] {slope[0], offset[0]};
    }

    private static float[] errors(int[] samples, float slope, float offset) {
        float[] errors = new float[samples.length];
        for (int i = 0; i < samples.length; i++) {
            float x = x(samples[i]);
            errors[i] = slope * x + offset - (3 * x + 1);
        }
        return errors;
    }

    private static float x(int sample) {
        return sample / (float) SAMPLES;
    }

    private static void print(HvdContext hvd, float[] line) {
        if (hvd.rank() == 0) {
            System.out.printf(Locale.ROOT, "ranks=%d slope=%.2f offset=%.2f%n", hvd.size(), line[0], line[1]);
        }
    }
}
