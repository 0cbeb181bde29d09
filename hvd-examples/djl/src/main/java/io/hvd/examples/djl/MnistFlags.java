package io.hvd.examples.djl;

import io.hvd.examples.Flags;
import io.hvd.examples.data.ImageSets;
import io.hvd.examples.image.MnistData;
import java.nio.file.Path;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.apache.commons.cli.CommandLine;
import org.apache.commons.cli.DefaultParser;
import org.apache.commons.cli.Options;
import org.apache.commons.cli.ParseException;

/**
 * The values of the command line.
 *
 * @param batchSize of all ranks together
 * @param alone whether DJL trains without hvd, for comparison
 * @param threads number of ranks that are threads; 0 for a rank that is this process
 * @param checkpoint the folder of the checkpoint; empty for none
 * @param images reads or draws the digits
 */
record MnistFlags(
        int epochs,
        int batchSize,
        float learningRate,
        int trainImages,
        int testImages,
        int seed,
        boolean alone,
        int threads,
        Optional<Path> checkpoint,
        Callable<ImageSets> images) {
    private static final int MOST = 1 << 20;

    static Options options() {
        Options options = new Options()
                .addOption(Flags.valued("epochs", "number of epochs (3)"))
                .addOption(Flags.valued("batch-size", "images in a step of all ranks together (128)"))
                .addOption(Flags.valued("lr", "learning rate (0.01)"))
                .addOption(Flags.valued("train-images", "at most so many images to train on"))
                .addOption(Flags.valued("test-images", "at most so many images to test on"))
                .addOption(Flags.valued("seed", "of the weights, the images and their order (42)"))
                .addOption(Flags.valued("threads", "number of ranks that run as threads of this JVM"))
                .addOption(Flags.valued("checkpoint", "folder to go on from, if it has a checkpoint, and to save to"))
                .addOption(null, "alone", false, "DJL's own trainer without hvd, in one process, for comparison")
                .addOption("h", "help", false, "print this text");
        return MnistData.addFlags(options);
    }

    static MnistFlags from(String[] args) throws ParseException {
        CommandLine line = new DefaultParser().parse(options(), args);
        if (!line.getArgList().isEmpty()) {
            throw new ParseException("unexpected " + line.getArgList());
        }
        int seed = Flags.count(line, "seed", 42, 0);
        return new MnistFlags(
                Flags.count(line, "epochs", 3, 1),
                Flags.count(line, "batch-size", 128, 1),
                (float) Flags.decimal(line, "lr", 0.01, rate -> rate > 0, "above 0"),
                Flags.count(line, "train-images", MOST, 1),
                Flags.count(line, "test-images", MOST, 1),
                seed,
                line.hasOption("alone"),
                line.hasOption("threads") ? Flags.count(line, "threads", 1, 1) : 0,
                Flags.path(line, "checkpoint"),
                MnistData.images(line, seed));
    }

    /** The images of a step on one of so many ranks. */
    int batchOf(int ranks) throws ParseException {
        if (batchSize % ranks != 0) {
            throw new ParseException("--batch-size is " + batchSize + " and there are " + ranks
                    + " ranks: expected a multiple of their number, so that each takes as many images");
        }
        return batchSize / ranks;
    }
}
