package io.hvd.examples.volume;

import io.hvd.examples.Flags;
import java.util.List;
import java.util.stream.Collectors;
import org.apache.commons.cli.CommandLine;
import org.apache.commons.cli.ParseException;

/** Values of flags that are not given: those of MONAI's example, or values for a short run on two CPU cores. */
enum VolumePreset {
    FULL(128, 96, 40, 16, List.of(16, 32, 64, 128, 256), 5, 0.001, 1),
    QUICK(32, 16, 8, 4, List.of(4, 8, 16), 80, 0.02, 0);

    static final String FLAG = "preset";
    private static final String QUICK_WORD = "quick";

    final int size;
    final int roi;
    final int images;
    final int evalImages;
    final List<Integer> channels;
    final int epochs;
    final double learningRate;
    final int logInterval;

    VolumePreset(
            int size,
            int roi,
            int images,
            int evalImages,
            List<Integer> channels,
            int epochs,
            double learningRate,
            int logInterval) {
        this.size = size;
        this.roi = roi;
        this.images = images;
        this.evalImages = evalImages;
        this.channels = channels;
        this.epochs = epochs;
        this.learningRate = learningRate;
        this.logInterval = logInterval;
    }

    static VolumePreset of(CommandLine line) throws ParseException {
        if (!line.hasOption(FLAG)) {
            return FULL;
        }
        Flags.oneOf(line, FLAG, List.of(QUICK_WORD));
        return QUICK;
    }

    /** The flags of the data that the quick preset stands for, as on a command line. */
    static String quickData() {
        return "--size " + QUICK.size + " --images " + QUICK.images + " --eval-images " + QUICK.evalImages;
    }

    /** All flags that the quick preset of a training stands for. */
    static String quickTraining() {
        return quickData() + " --roi " + QUICK.roi + " --channels " + QUICK.channelsInWords() + " --epochs "
                + QUICK.epochs + " --lr " + QUICK.learningRate + " --log-interval " + QUICK.logInterval;
    }

    String channelsInWords() {
        return words(channels);
    }

    /** Numbers with commas between them, as on a command line. */
    static String words(List<Integer> numbers) {
        return numbers.stream().map(String::valueOf).collect(Collectors.joining(","));
    }
}
