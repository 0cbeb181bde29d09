package io.hvd.examples.image;

import io.hvd.HvdContext;
import io.hvd.RankBody;
import io.hvd.examples.Example;
import io.hvd.examples.QuickRun;
import io.hvd.examples.data.Cifar;
import io.hvd.examples.data.ColouredPatterns;
import io.hvd.examples.data.ImageSets;
import io.hvd.examples.data.Lazy;
import io.hvd.examples.data.MappedImages;
import java.io.IOException;
import java.util.List;
import java.util.concurrent.Callable;
import org.apache.commons.cli.CommandLine;
import org.apache.commons.cli.Options;
import org.apache.commons.cli.ParseException;

/** Residual nets on CIFAR-10, on colour images laid out like it, or on images that the program draws. */
public final class CifarExample implements Example {
    private static final int DRAWN_TRAIN = 5_000;
    private static final int DRAWN_TEST = 1_000;
    private static final long SUBSET_SEED = 18;

    @Override
    public String name() {
        return "cifar10";
    }

    @Override
    public String summary() {
        return "residual nets on CIFAR-10 (binary files or JPEG folders), or on images drawn by the program";
    }

    @Override
    public Options flags() {
        return CifarFlags.all();
    }

    @Override
    public List<QuickRun> quickRuns() {
        return List.of(QuickRun.of("--preset quick"));
    }

    @Override
    public RankBody<Integer> program(CommandLine line) throws ParseException {
        CifarOptions options = CifarOptions.from(line);
        Callable<ImageSets> images = new Lazy<>(() -> images(options));
        return hvd -> {
            options.results().files().require(hvd);
            try (CifarTraining training = new CifarTraining(hvd, options, mapped(hvd, options, images.call()))) {
                training.run();
            }
            return 0;
        };
    }

    private static ImageSets mapped(HvdContext hvd, CifarOptions options, ImageSets images) {
        String version = "cifar10 " + options.data() + ", seed " + options.seed();
        return options.data()
                .mapped()
                .map(file -> MappedImages.of(hvd, file, version, images))
                .orElse(images);
    }

    static ImageSets images(CifarOptions options) throws IOException, ParseException {
        CifarOptions.Data data = options.data();
        ImageSets images = data.folder().isPresent()
                ? Cifar.open(data.folder().get(), data.trainFraction())
                : ColouredPatterns.sets(
                        Math.min(DRAWN_TRAIN, data.trainImages()),
                        Math.min(DRAWN_TEST, data.testImages()),
                        options.seed());
        if (images.classes() > options.net().classes()) {
            throw new ParseException("the images have " + images.classes() + " classes, --classes is "
                    + options.net().classes());
        }
        return images.atMost(data.trainImages(), data.testImages(), SUBSET_SEED);
    }
}
