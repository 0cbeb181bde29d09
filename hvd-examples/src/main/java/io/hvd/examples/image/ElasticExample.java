package io.hvd.examples.image;

import io.hvd.RankBody;
import io.hvd.examples.Example;
import io.hvd.examples.QuickRun;
import io.hvd.examples.data.ImageSets;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.apache.commons.cli.CommandLine;
import org.apache.commons.cli.Options;
import org.apache.commons.cli.ParseException;

/** The net of Horovod's MNIST example in a job that goes on when a rank is lost. */
public final class ElasticExample implements Example {
    @Override
    public String name() {
        return "elastic-mnist";
    }

    @Override
    public String summary() {
        return "a training that goes on when a rank is lost, under horovodrun --min-np; it can kill one itself";
    }

    @Override
    public Options flags() {
        return MnistData.addFlags(ElasticOptions.flags());
    }

    @Override
    public List<QuickRun> quickRuns() {
        return List.of(QuickRun.of("--epochs 1"));
    }

    @Override
    public RankBody<Integer> program(CommandLine line) throws ParseException {
        ElasticOptions options = ElasticOptions.from(line);
        Callable<ImageSets> images = MnistData.images(line, options.seed());
        return hvd -> {
            new ElasticTraining(options, images.call(), System.out::println).run(hvd);
            return 0;
        };
    }

    @Override
    public Optional<Callable<Integer>> joinsItself(CommandLine line) throws ParseException {
        ElasticOptions options = ElasticOptions.from(line);
        Callable<ImageSets> images = MnistData.images(line, options.seed());
        return Optional.of(() -> {
            new ElasticTraining(options, images.call(), System.out::println).run();
            return 0;
        });
    }
}
