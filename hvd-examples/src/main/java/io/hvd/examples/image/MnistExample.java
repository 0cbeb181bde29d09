package io.hvd.examples.image;

import io.hvd.RankBody;
import io.hvd.examples.Example;
import io.hvd.examples.QuickRun;
import io.hvd.examples.data.ImageSets;
import io.hvd.examples.data.Lazy;
import java.util.List;
import java.util.concurrent.Callable;
import org.apache.commons.cli.CommandLine;
import org.apache.commons.cli.Options;
import org.apache.commons.cli.ParseException;

/** Horovod's MNIST example, with the same net and the same hyper-parameters. */
public final class MnistExample implements Example {
    /** 10 epochs in batches of 64, a constant learning rate of 0.01, momentum 0.5. */
    private static final TrainingOptions.Defaults DEFAULTS = new TrainingOptions.Defaults(10, 64, 0.01, 1, 0.5);

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
        return HorovodMnistFlags.addFlags(MnistData.addFlags(TrainingOptions.flags(DEFAULTS)));
    }

    @Override
    public List<QuickRun> quickRuns() {
        return List.of(QuickRun.of("--epochs 2"));
    }

    @Override
    public RankBody<Integer> program(CommandLine line) throws ParseException {
        TrainingOptions options = TrainingOptions.from(line, DEFAULTS);
        HorovodMnistFlags horovods = HorovodMnistFlags.of(line);
        Callable<ImageSets> images = new Lazy<>(MnistData.images(line, options.seed()));
        return hvd -> {
            RunStart start = RunStart.of(name(), hvd, options);
            new ImageTraining(start, options, images.call(), MnistNet::new, horovods).run();
            return 0;
        };
    }
}
