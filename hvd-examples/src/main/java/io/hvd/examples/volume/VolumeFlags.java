package io.hvd.examples.volume;

import static io.hvd.examples.Flags.valued;

import io.hvd.examples.Flags;
import io.hvd.examples.training.TorchDevice;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.OptionalInt;
import org.apache.commons.cli.CommandLine;
import org.apache.commons.cli.Options;
import org.apache.commons.cli.ParseException;

/** The flags that the training of the 3-D UNet and its evaluation have in common. */
final class VolumeFlags {
    static final String ROI = "roi";
    static final String CHANNELS = "channels";

    private VolumeFlags() {}

    static void addData(Options flags) {
        VolumePreset full = VolumePreset.FULL;
        flags.addOption(valued(
                        "d",
                        "data-dir",
                        "folder with img*.nii.gz and seg*.nii.gz, the same on every host; one that is empty or not there is filled with"
                                + " drawn volumes; without it the program draws them in memory"))
                .addOption(valued("size", "voxels of a side of drawn volumes, default " + full.size))
                .addOption(valued(
                        "images",
                        "volumes to train on, default " + full.images
                                + ", or all that a folder of real ones has besides --eval-images"))
                .addOption(
                        valued("eval-images", "the last volumes, which are only evaluated, default " + full.evalImages))
                .addOption(valued("seed", "seed of drawn volumes, weights, order and crops, default 0"))
                .addOption(valued("j", "workers", "threads per rank that load volumes, default 2"))
                .addOption(TorchDevice.flag());
    }

    static VolumeData.Choice data(CommandLine line) throws ParseException {
        VolumePreset preset = VolumePreset.of(line);
        boolean isChosen = line.hasOption("images") || preset != VolumePreset.FULL;
        int size = Flags.count(line, "size", preset.size, SyntheticVolumes.LEAST_SIZE);
        if (size > SyntheticVolumes.MOST_SIZE) {
            throw new ParseException("--size is \"" + size + "\", expected at most " + SyntheticVolumes.MOST_SIZE);
        }
        return new VolumeData.Choice(
                Flags.path(line, "data-dir"),
                size,
                isChosen ? OptionalInt.of(Flags.count(line, "images", preset.images, 1)) : OptionalInt.empty(),
                Flags.count(line, "eval-images", preset.evalImages, 1),
                Flags.number(line, "seed", 0, Long.MIN_VALUE));
    }

    static int workers(CommandLine line) throws ParseException {
        return Flags.count(line, "workers", 2, 0);
    }

    static void addWindow(Options flags) {
        flags.addOption(valued("sw-batch", "cubes of a volume that are evaluated at once, default 4"))
                .addOption(valued("overlap", "share of a side that neighbouring cubes have in common, default 0.25"))
                .addOption(valued(
                        "weighting",
                        "how cubes that lie over each other are averaged: constant (default) or gaussian"));
    }

    static SlidingWindow window(CommandLine line, int roi) throws ParseException {
        String weighting = Flags.oneOf(
                line,
                "weighting",
                List.of(SlidingWindow.Weighting.CONSTANT.word(), SlidingWindow.Weighting.GAUSSIAN.word()));
        return new SlidingWindow(
                roi,
                Flags.count(line, "sw-batch", 4, 1),
                Flags.decimal(line, "overlap", 0.25, share -> share >= 0 && share < 1, "of at least 0 and below 1"),
                SlidingWindow.Weighting.valueOf(weighting.toUpperCase(Locale.ROOT)));
    }

    /** Reads numbers of channels such as {@code 16,32,64}. */
    static List<Integer> channels(String words) throws ParseException {
        List<Integer> channels = new ArrayList<>();
        for (String word : words.split(",", -1)) {
            if (!word.matches("[1-9][0-9]{0,4}")) {
                throw new ParseException("--" + CHANNELS + " is \"" + words
                        + "\", expected whole numbers of at least 1 with commas between them");
            }
            channels.add(Integer.parseInt(word));
        }
        if (channels.size() < 2) {
            throw new ParseException("--" + CHANNELS + " is \"" + words + "\", expected at least 2 levels");
        }
        return channels;
    }

    /** Refuses a side that the levels cannot halve, or of which they leave a single voxel, which has no norm. */
    static int requireRoi(int roi, List<Integer> channels) throws ParseException {
        int divisor = shape(channels).divisor();
        if (roi % divisor != 0 || roi < 2 * divisor) {
            throw new ParseException("--" + ROI + " is \"" + roi + "\", expected a multiple of " + divisor
                    + " and at least " + 2 * divisor + ", since the net halves it " + (channels.size() - 1) + " times");
        }
        return roi;
    }

    static UNet3d.Shape shape(List<Integer> channels) {
        return new UNet3d.Shape(1, 1, channels, VolumeNorm.INSTANCE);
    }
}
