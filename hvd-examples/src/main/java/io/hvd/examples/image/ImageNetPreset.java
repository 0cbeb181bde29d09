package io.hvd.examples.image;

import io.hvd.examples.Flags;
import java.util.List;
import org.apache.commons.cli.CommandLine;
import org.apache.commons.cli.ParseException;

/** Values of flags that are not given: those of Horovod's program, or values for a short run on two CPU cores. */
enum ImageNetPreset {
    FULL("resnet50", 224, 90, 5, 32, 0.0125, 1000, 12_800, 1_280),
    QUICK("resnet18", 64, 3, 1, 8, 0.005, 4, 320, 128);

    static final String FLAG = "preset";

    final String model;
    final int imageSize;
    final int epochs;
    final int warmUpEpochs;
    final int batchSize;
    final double baseRate;
    final int classes;
    final int trainImages;
    final int valImages;

    ImageNetPreset(
            String model,
            int imageSize,
            int epochs,
            int warmUpEpochs,
            int batchSize,
            double baseRate,
            int classes,
            int trainImages,
            int valImages) {
        this.model = model;
        this.imageSize = imageSize;
        this.epochs = epochs;
        this.warmUpEpochs = warmUpEpochs;
        this.batchSize = batchSize;
        this.baseRate = baseRate;
        this.classes = classes;
        this.trainImages = trainImages;
        this.valImages = valImages;
    }

    static ImageNetPreset of(CommandLine line) throws ParseException {
        if (!line.hasOption(FLAG)) {
            return FULL;
        }
        Flags.oneOf(line, FLAG, List.of("quick"));
        return QUICK;
    }

    /** The flags that a preset stands for, as on a command line. */
    String inFlags() {
        return "--model " + model + " --image-size " + imageSize + " --epochs " + epochs + " --warmup-epochs "
                + warmUpEpochs + " --batch-size " + batchSize + " --base-lr " + baseRate + " --classes " + classes
                + " --train-images "
                + trainImages + " --val-images " + valImages;
    }
}
