package io.hvd.examples.volume;

import static io.hvd.examples.Flags.valued;

import io.hvd.Compression;
import io.hvd.examples.CompressionFlags;
import io.hvd.examples.Flags;
import io.hvd.examples.training.TorchDevice;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.apache.commons.cli.CommandLine;
import org.apache.commons.cli.Options;
import org.apache.commons.cli.ParseException;

/**
 * The values of the flags of the training of the 3-D UNet.
 *
 * @param window cubes of the evaluation, which have the side of the crops
 * @param crops cubes of a volume that a step sees
 * @param batchSize volumes per rank and step
 * @param logInterval steps between two lines of a step's loss; 0 for none
 */
record VolumeOptions(
        VolumeData.Choice data,
        List<Integer> channels,
        SlidingWindow window,
        int crops,
        int epochs,
        int batchSize,
        double learningRate,
        Compression compression,
        int workers,
        long maxSteps,
        int logInterval,
        Optional<Path> checkpoint,
        boolean cuda) {

    static Options flags() {
        VolumePreset full = VolumePreset.FULL;
        Options flags = new Options();
        VolumeFlags.addData(flags);
        flags.addOption(valued(
                        VolumePreset.FLAG,
                        "quick: trains for less than a minute on two cores. Stands for " + VolumePreset.quickTraining()
                                + "; flags on the command line win over it"))
                .addOption(valued(VolumeFlags.ROI, "voxels of a side of the crops, default " + full.roi))
                .addOption(valued(
                        VolumeFlags.CHANNELS, "channels of each level of the net, default " + full.channelsInWords()))
                .addOption(valued("crops", "crops of a volume in a step, default 4"))
                .addOption(valued("epochs", "number of epochs, default " + full.epochs))
                .addOption(valued("b", "batch-size", "volumes per rank and step, default 2"))
                .addOption(valued(
                        "lr", "learning rate of Adam, whatever the number of ranks, default " + full.learningRate))
                .addOption(valued("max-steps", "number of steps after which the training ends early"))
                .addOption(valued("log-interval", "a line for one in so many steps, 0 for none; default 1"))
                .addOption(valued("checkpoint", "file in which rank 0 saves the final model"));
        VolumeFlags.addWindow(flags);
        CompressionFlags.addTo(flags);
        return flags;
    }

    static VolumeOptions from(CommandLine line) throws ParseException {
        VolumePreset preset = VolumePreset.of(line);
        List<Integer> channels =
                VolumeFlags.channels(line.getOptionValue(VolumeFlags.CHANNELS, preset.channelsInWords()));
        int roi = VolumeFlags.requireRoi(Flags.count(line, VolumeFlags.ROI, preset.roi, 1), channels);
        VolumeData.Choice data = VolumeFlags.data(line);
        if (data.size() < roi) {
            throw new ParseException("--size is \"" + data.size() + "\", expected at least --roi " + roi);
        }
        return new VolumeOptions(
                data,
                channels,
                VolumeFlags.window(line, roi),
                Flags.count(line, "crops", 4, 1),
                Flags.count(line, "epochs", preset.epochs, 1),
                Flags.count(line, "batch-size", 2, 1),
                Flags.decimal(line, "lr", preset.learningRate, rate -> rate > 0, "greater than 0"),
                CompressionFlags.of(line),
                VolumeFlags.workers(line),
                Flags.number(line, "max-steps", Long.MAX_VALUE, 1),
                Flags.count(line, "log-interval", preset.logInterval, 0),
                Flags.path(line, "checkpoint"),
                TorchDevice.isCuda(line));
    }

    int roi() {
        return window.side();
    }
}
