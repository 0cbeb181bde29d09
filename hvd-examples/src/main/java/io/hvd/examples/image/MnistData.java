package io.hvd.examples.image;

import io.hvd.examples.Flags;
import io.hvd.examples.data.ImageSets;
import io.hvd.examples.data.Mnist;
import io.hvd.examples.data.SyntheticDigits;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import org.apache.commons.cli.CommandLine;
import org.apache.commons.cli.Options;
import org.apache.commons.cli.ParseException;

/** Chooses MNIST's images: the IDX files of {@code --data-dir}, or digits that the program draws. */
public final class MnistData {
    private static final int SYNTHETIC_TRAIN = 6_000;
    private static final int SYNTHETIC_TEST = 1_000;

    private MnistData() {}

    public static Options addFlags(Options options) {
        return options.addOption(Flags.valued(
                        "data-dir",
                        "folder with MNIST's IDX files, gzipped or not; without it the program draws digits"))
                .addOption(Flags.valued(
                        "train-fraction", "share of the images to train on, if the folder has no training files"));
    }

    /** Checks the flags before the job begins, and reads the images when it has begun. */
    public static Callable<ImageSets> images(CommandLine line, long seed) throws ParseException {
        if (!line.hasOption("data-dir")) {
            if (line.hasOption("train-fraction")) {
                throw new ParseException("--train-fraction needs --data-dir: it splits the files there");
            }
            return () -> SyntheticDigits.sets(SYNTHETIC_TRAIN, SYNTHETIC_TEST, seed);
        }
        Path folder = Path.of(line.getOptionValue("data-dir"));
        if (!line.hasOption("train-fraction")) {
            return () -> Mnist.open(folder);
        }
        double fraction =
                Flags.decimal(line, "train-fraction", Double.NaN, share -> share > 0 && share < 1, "between 0 and 1");
        return () -> Mnist.open(folder, fraction);
    }
}
