package io.hvd.examples.demo;

import io.hvd.InitOptions;
import io.hvd.RankBody;
import io.hvd.examples.Example;
import io.hvd.examples.QuickRun;
import io.hvd.examples.image.OutputFiles;
import io.hvd.examples.training.TorchDevice;
import java.util.List;
import org.apache.commons.cli.CommandLine;
import org.apache.commons.cli.Options;
import org.apache.commons.cli.ParseException;

/**
 * The toy model of PyTorch's tutorial on DistributedDataParallel: a step on all ranks, a checkpoint that all ranks load, a model over
 * two devices of each rank, and a pipeline over the ranks.
 */
public final class ToyExample implements Example {
    static final String NAME = "toy";

    @Override
    public String name() {
        return NAME;
    }

    @Override
    public String summary() {
        return "two dense layers: a step, a checkpoint, a model over two devices of a rank, or a pipeline of ranks";
    }

    @Override
    public Options flags() {
        return ToyOptions.flags();
    }

    @Override
    public InitOptions joining(CommandLine line) throws ParseException {
        boolean twoGpus = ToyOptions.part(line).equals(ToyOptions.MODEL_PARALLEL) && TorchDevice.isCuda(line);
        return twoGpus ? InitOptions.standard().withGpusPerRank(2) : InitOptions.standard();
    }

    @Override
    public List<QuickRun> quickRuns() {
        return List.of(
                QuickRun.of("--part basic"),
                QuickRun.of("--part checkpoint"),
                QuickRun.of("--part model-parallel"),
                QuickRun.of("--part pipeline --steps 20").onAtLeast(2));
    }

    @Override
    public RankBody<Integer> program(CommandLine line) throws ParseException {
        ToyOptions options = ToyOptions.from(line);
        OutputFiles files = new OutputFiles().with("checkpoint", options.checkpoint());
        return hvd -> {
            files.require(hvd);
            return switch (options.part()) {
                case ToyOptions.PIPELINE -> new ToyPipeline(hvd, options).run();
                case ToyOptions.CHECKPOINT -> new ToyTraining(hvd, options).trainSaveAndLoad();
                default -> new ToyTraining(hvd, options).train();
            };
        };
    }
}
