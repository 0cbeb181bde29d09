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

/** Where MNIST's images come from: the IDX files of {@code --data-dir}, or digits that the program draws. */
public final class MnistData {
    private static final int SYNTHETIC_TRAIN = 6_000;
    private static final int SYNTHETIC_TEST = 1_000;

    private MnistData() {}

    public static Options addFlags(Options options) {
        return options.addOption(Flags.valued(
                        "data-dir", "folder with MNIST's IDX files, gzipped or not; without it digits are drawn"))
                .addOption(Flags.valued("train-fraction", "share to train on where the folder has no training files"));
    }

    /** What the flags say, checked before the job begins, and read when it has begun. */
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
