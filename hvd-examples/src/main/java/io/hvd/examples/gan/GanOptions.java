package io.hvd.examples.gan;

import io.hvd.Compression;
import io.hvd.examples.CompressionFlags;
import io.hvd.examples.Flags;
import io.hvd.examples.training.TorchDevice;
import java.util.List;
import org.apache.commons.cli.CommandLine;
import org.apache.commons.cli.Options;
import org.apache.commons.cli.ParseException;

/**
 * The values of the flags of the GAN.
 *
 * @param batchSize points of all ranks together in a step
 * @param noise numbers from which the generator makes a point
 * @param samples points that are generated for each evaluation, by all ranks together
 */
record GanOptions(
        int epochs,
        int batchSize,
        int points,
        int modes,
        double deviation,
        int noise,
        int hidden,
        double learningRate,
        int samples,
        Compression compression,
        long seed,
        int workers,
        long maxSteps,
        boolean cuda) {
    private static final String PRESET = "preset";
    private static final int FULL_EPOCHS = 100;
    private static final int QUICK_EPOCHS = 10;

    static Options flags() {
        Options flags = new Options()
                .addOption(Flags.valued("epochs", "number of epochs, default " + FULL_EPOCHS))
                .addOption(Flags.valued(
                        PRESET,
                        "quick: stands for --epochs " + QUICK_EPOCHS + "; a flag on the command line wins over it"))
                .addOption(
                        Flags.valued(
                                "batch-size",
                                "points per step of all ranks together, default 128; must be a multiple of the number of ranks"))
                .addOption(Flags.valued("points", "points to train on, which the program draws, default 12800"))
                .addOption(Flags.valued("modes", "modes on the circle around which the points lie, default 8"))
                .addOption(Flags.valued("deviation", "standard deviation of the points around a mode, default 0.05"))
                .addOption(Flags.valued("noise", "numbers from which the generator makes a point, default 8"))
                .addOption(Flags.valued("hidden", "width of the dense layers of both nets, default 64"))
                .addOption(Flags.valued("lr", "learning rate of Adam of both nets, default 0.002"))
                .addOption(Flags.valued(
                        "samples", "points that all ranks together generate for an evaluation, default 4096"))
                .addOption(Flags.valued("seed", "seed of points, noise, weights and order, default 42"))
                .addOption(Flags.valued("workers", "threads that load batches, default 0"))
                .addOption(Flags.valued("max-steps", "number of steps after which the training ends early"))
                .addOption(TorchDevice.flag());
        CompressionFlags.addTo(flags);
        return flags;
    }

    static GanOptions from(CommandLine line) throws ParseException {
        boolean quick = line.hasOption(PRESET);
        if (quick) {
            Flags.oneOf(line, PRESET, List.of("quick"));
        }
        return new GanOptions(
                Flags.count(line, "epochs", quick ? QUICK_EPOCHS : FULL_EPOCHS, 1),
                Flags.count(line, "batch-size", 128, 1),
                Flags.count(line, "points", 12_800, 1),
                Flags.count(line, "modes", 8, 1),
                Flags.decimal(line, "deviation", 0.05, deviation -> deviation > 0, "greater than 0"),
                Flags.count(line, "noise", 8, 1),
                Flags.count(line, "hidden", 64, 1),
                Flags.decimal(line, "lr", 0.002, rate -> rate > 0, "greater than 0"),
                Flags.count(line, "samples", 4096, 1),
                CompressionFlags.of(line),
                Flags.number(line, "seed", 42, Long.MIN_VALUE),
                Flags.count(line, "workers", 0, 0),
                Flags.number(line, "max-steps", Long.MAX_VALUE, 1),
                TorchDevice.isCuda(line));
    }
}
