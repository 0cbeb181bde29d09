package io.hvd.examples.volume;

import static io.hvd.examples.Flags.valued;

import io.hvd.examples.Flags;
import io.hvd.examples.training.TorchDevice;
import java.nio.file.Path;
import java.util.Optional;
import java.util.OptionalInt;
import org.apache.commons.cli.CommandLine;
import org.apache.commons.cli.Options;
import org.apache.commons.cli.ParseException;

/**
 * The values of the flags of the evaluation of a 3-D UNet.
 *
 * @param roi voxels of a side of the cubes; empty for that of the checkpoint
 * @param csv file for the score of each volume
 * @param out folder for the predicted masks
 */
record UNetEvalOptions(
        VolumeData.Choice data,
        Path checkpoint,
        OptionalInt roi,
        Optional<Path> csv,
        Optional<Path> out,
        int workers,
        boolean cuda) {

    static Options flags() {
        Options flags = new Options();
        VolumeFlags.addData(flags);
        flags.addOption(valued(
                        VolumePreset.FLAG,
                        "quick: the volumes of unet3d's preset. Stands for " + VolumePreset.quickData()
                                + "; flags on the command line win over it"))
                .addOption(valued("checkpoint", "file that unet3d has saved on the host of rank 0; needed"))
                .addOption(valued(VolumeFlags.ROI, "voxels of a side of the cubes, default that of the checkpoint"))
                .addOption(valued("csv", "file in which rank 0 writes the Dice coefficient of each volume"))
                .addOption(valued(
                        "out",
                        "folder in which each rank writes the masks that it has predicted, as NAME_mask.nii.gz; made if it is not"
                                + " there"));
        VolumeFlags.addWindow(flags);
        return flags;
    }

    static UNetEvalOptions from(CommandLine line) throws ParseException {
        Path checkpoint = Flags.path(line, "checkpoint")
                .orElseThrow(() -> new ParseException("--checkpoint FILE is missing: the model to evaluate"));
        return new UNetEvalOptions(
                VolumeFlags.data(line),
                checkpoint,
                line.hasOption(VolumeFlags.ROI)
                        ? OptionalInt.of(Flags.count(line, VolumeFlags.ROI, 1, 1))
                        : OptionalInt.empty(),
                Flags.path(line, "csv"),
                Flags.path(line, "out"),
                VolumeFlags.workers(line),
                TorchDevice.isCuda(line));
    }
}
