package io.hvd.examples.image;

import io.hvd.RankBody;
import io.hvd.examples.Example;
import io.hvd.examples.data.ImageSets;
import io.hvd.examples.data.Lazy;
import java.util.concurrent.Callable;
import org.apache.commons.cli.CommandLine;
import org.apache.commons.cli.Options;
import org.apache.commons.cli.ParseException;

/** Horovod's Keras MNIST example with its callbacks, as those of a {@link io.hvd.train.TrainingLoop}. */
public final class MnistCallbacksExample implements Example {
    static final String NAME = "mnist-callbacks";

    @Override
    public String name() {
        return NAME;
    }

    @Override
    public String summary() {
        return "the net and the callbacks of Horovod's Keras MNIST example: warm-up, plateau, averaged metrics";
    }

    @Override
    public Options flags() {
        return MnistData.addFlags(CallbacksOptions.flags());
    }

    @Override
    public RankBody<Integer> program(CommandLine line) throws ParseException {
        CallbacksOptions options = CallbacksOptions.from(line);
        Callable<ImageSets> images = new Lazy<>(MnistData.images(line, options.seed()));
        return hvd -> {
            new OutputFiles().with("checkpoint", options.checkpoint()).require(hvd);
            new CallbacksTraining(hvd, options, images.call(), System.out::println).run();
            return 0;
        };
    }
}
