package io.hvd.examples.synthetic;

import io.hvd.Compression;
import io.hvd.examples.CompressionFlags;
import io.hvd.examples.Flags;
import io.hvd.examples.image.ImageClassifier;
import io.hvd.examples.image.ResNet;
import io.hvd.examples.training.AdasumFlag;
import io.hvd.examples.training.TorchDevice;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.commons.cli.CommandLine;
import org.apache.commons.cli.Options;
import org.apache.commons.cli.ParseException;

/**
 * The values of the flags of the benchmark.
 *
 * @param imageSize rows and columns of an image
 * @param batchSize images per rank and step
 * @param warmUpBatches batches before the measurement
 */
record SyntheticOptions(
        String model,
        int imageSize,
        int batchSize,
        int warmUpBatches,
        int batchesPerIteration,
        int iterations,
        Compression compression,
        boolean adasum,
        long seed,
        boolean cuda) {
    static final int CLASSES = 1000;
    static final int CHANNELS = 3;

    private static final String PRESET = "preset";
    private static final String MLP = "mlp";
    private static final Pattern VECTOR = Pattern.compile("vector:([1-9][0-9]{0,8})");

    /** The default values: those of Horovod's benchmark, or values for a short run on two CPU cores. */
    private enum Preset {
        FULL("resnet50", 224, 32, 10, 10, 10),
        QUICK("resnet18", 64, 8, 2, 2, 5);

        final String model;
        final int imageSize;
        final int batchSize;
        final int warmUpBatches;
        final int batchesPerIteration;
        final int iterations;

        Preset(String model, int imageSize, int batchSize, int warmUpBatches, int batchesPerIteration, int iterations) {
            this.model = model;
            this.imageSize = imageSize;
            this.batchSize = batchSize;
            this.warmUpBatches = warmUpBatches;
            this.batchesPerIteration = batchesPerIteration;
            this.iterations = iterations;
        }

        static Preset of(CommandLine line) throws ParseException {
            if (!line.hasOption(PRESET)) {
                return FULL;
            }
            Flags.oneOf(line, PRESET, List.of("quick"));
            return QUICK;
        }

        String inFlags() {
            return "--model " + model + " --image-size " + imageSize + " --batch-size " + batchSize
                    + " --num-warmup-batches " + warmUpBatches + " --num-batches-per-iter " + batchesPerIteration
                    + " --num-iters " + iterations;
        }
    }

    /** The preset in flags, as on a command line. */
    static String quickInFlags() {
        return Preset.QUICK.inFlags();
    }

    private static List<String> models() {
        List<String> models = new ArrayList<>(ResNet.names());
        models.add(MLP);
        return models;
    }

    private static String model(CommandLine line, Preset preset) throws ParseException {
        String model = line.getOptionValue("model", preset.model);
        if (!models().contains(model) && !VECTOR.matcher(model).matches()) {
            throw new ParseException("--model is \"" + model + "\", expected one of " + models()
                    + ", or vector:N with N from 1 to 999999999");
        }
        return model;
    }

    static Options flags() {
        Preset full = Preset.FULL;
        Options flags = new Options()
                .addOption(Flags.valued(
                        "model",
                        "net: one of " + models()
                                + ", or vector:N, one vector of N elements, whose gradient costs next to"
                                + " nothing to compute; default " + full.model))
                .addOption(Flags.valued("image-size", "rows and columns of the images, default " + full.imageSize))
                .addOption(Flags.valued("batch-size", "images per rank and step, default " + full.batchSize))
                .addOption(Flags.valued(
                        "num-warmup-batches", "batches before the measurement, default " + full.warmUpBatches))
                .addOption(Flags.valued(
                        "num-batches-per-iter",
                        "batches over which one rate is measured, default " + full.batchesPerIteration))
                .addOption(Flags.valued("num-iters", "number of rates that are measured, default " + full.iterations))
                .addOption(Flags.valued(
                        PRESET, "quick: stands for " + quickInFlags() + "; flags on the command line win over it"))
                .addOption(AdasumFlag.flag())
                .addOption(Flags.valued("seed", "seed of images, labels and weights, default 42"))
                .addOption(TorchDevice.noCudaFlag())
                .addOption(TorchDevice.flag());
        CompressionFlags.addTo(flags);
        return flags;
    }

    static SyntheticOptions from(CommandLine line) throws ParseException {
        Preset preset = Preset.of(line);
        return new SyntheticOptions(
                model(line, preset),
                Flags.count(line, "image-size", preset.imageSize, 1),
                Flags.count(line, "batch-size", preset.batchSize, 1),
                Flags.count(line, "num-warmup-batches", preset.warmUpBatches, 0),
                Flags.count(line, "num-batches-per-iter", preset.batchesPerIteration, 1),
                Flags.count(line, "num-iters", preset.iterations, 1),
                CompressionFlags.of(line),
                AdasumFlag.of(line),
                Flags.number(line, "seed", 42, Long.MIN_VALUE),
                TorchDevice.isCuda(line));
    }

    ImageClassifier build() {
        Matcher vector = VECTOR.matcher(model);
        if (vector.matches()) {
            return new VectorClassifier(Integer.parseInt(vector.group(1)), CLASSES);
        }
        return model.equals(MLP)
                ? new MlpClassifier(Math.multiplyExact(CHANNELS, Math.multiplyExact(imageSize, imageSize)), CLASSES)
                : ResNet.named(model, ResNet.Stem.IMAGENET, CLASSES);
    }
}
