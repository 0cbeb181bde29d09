package io.hvd.examples.image;

import io.hvd.examples.Flags;
import java.util.List;
import org.apache.commons.cli.CommandLine;
import org.apache.commons.cli.ParseException;

/** Values of flags that are not given: those of the original programs, or values for a short run on two CPU cores. */
enum CifarPreset {
    FULL(10, 3200, 0.1, 30, 64, Integer.MAX_VALUE, Integer.MAX_VALUE),
    QUICK(4, 64, 0.05, 3, 16, 2_500, 1_000);

    static final String FLAG = "preset";
    private static final String QUICK_WORD = "quick";

    final int epochs;
    final int batchSize;
    final double learningRate;
    final int decayEpochs;
    final int width;
    final int trainImages;
    final int testImages;

    CifarPreset(
            int epochs,
            int batchSize,
            double learningRate,
            int decayEpochs,
            int width,
            int trainImages,
            int testImages) {
        this.epochs = epochs;
        this.batchSize = batchSize;
        this.learningRate = learningRate;
        this.decayEpochs = decayEpochs;
        this.width = width;
        this.trainImages = trainImages;
        this.testImages = testImages;
    }

    static CifarPreset of(CommandLine line) throws ParseException {
        if (!line.hasOption(FLAG)) {
            return FULL;
        }
        Flags.oneOf(line, FLAG, List.of(QUICK_WORD));
        return QUICK;
    }

    /** The flags that the quick preset stands for, as on a command line. */
    static String quickInFlags() {
        return "--width " + QUICK.width + " --train-images " + QUICK.trainImages + " --test-images " + QUICK.testImages
                + " --batch-size " + QUICK.batchSize + " --epochs " + QUICK.epochs + " --lr " + QUICK.learningRate
                + " --lr-decay-epochs " + QUICK.decayEpochs;
    }
}
