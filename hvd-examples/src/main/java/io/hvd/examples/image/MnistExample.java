package io.hvd.examples.image;

import io.hvd.RankBody;
import io.hvd.examples.Example;
import io.hvd.examples.Flags;
import io.hvd.examples.data.ImageSets;
import io.hvd.examples.data.Mnist;
import io.hvd.examples.data.Once;
import io.hvd.examples.data.SyntheticDigits;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import org.apache.commons.cli.CommandLine;
import org.apache.commons.cli.Options;
import org.apache.commons.cli.ParseException;

/** Horovod's MNIST example: the same net, the same hyper-parameters. */
public final class MnistExample implements Example {
    /** 10 epochs in batches of 64, rate 0.01 throughout, momentum 0.5. */
    private static final TrainingOptions.Defaults DEFAULTS = new TrainingOptions.Defaults(10, 64, 0.01, 1, 0.5);

    private static final int SYNTHETIC_TRAIN = 6_000;
    private static final int SYNTHETIC_TEST = 1_000;

    @Override
    public String name() {
        return "mnist";
    }

    @Override
    public String summary() {
        return "the net of Horovod's MNIST example on IDX files, or on digits drawn by the program";
    }

    @Override
    public Options flags() {
        return TrainingOptions.flags(DEFAULTS)
                .addOption(Flags.valued(
                        "data-dir", "folder with MNIST's IDX files, gzipped or not; without it digits are drawn"))
                .addOption(Flags.valued("train-fraction", "share to train on where the folder has no training files"));
    }

    @Override
    public RankBody<Integer> program(CommandLine line) throws ParseException {
        TrainingOptions options = TrainingOptions.from(line, DEFAULTS);
        Callable<ImageSets> images = new Once<>(images(line, options.seed()));
        return hvd -> {
            new ImageTraining(name(), hvd, options, images.call(), MnistNet::new).run();
            return 0;
        };
    }

    /** What the flags say, checked before the job begins, and read when it has begun. */
    private static Callable<ImageSets> images(CommandLine line, long seed) throws ParseException {
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
