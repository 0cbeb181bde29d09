package io.hvd.examples.demo;

import io.hvd.examples.Flags;
import io.hvd.examples.training.TorchDevice;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.apache.commons.cli.CommandLine;
import org.apache.commons.cli.Options;
import org.apache.commons.cli.ParseException;

/**
 * The values of the flags of {@link ToyExample}.
 *
 * @param batchSize samples of a step on each rank; with the pipeline, of all ranks together
 * @param microBatches parts of a batch that go through the pipeline one after the other
 */
record ToyOptions(
        String part,
        int batchSize,
        int steps,
        double learningRate,
        long seed,
        int microBatches,
        Optional<Path> checkpoint,
        boolean cuda) {
    static final String BASIC = "basic";
    static final String CHECKPOINT = "checkpoint";
    static final String MODEL_PARALLEL = "model-parallel";
    static final String PIPELINE = "pipeline";
    private static final List<String> PARTS = List.of(BASIC, CHECKPOINT, MODEL_PARALLEL, PIPELINE);
    private static final String MICRO_BATCHES = "micro-batches";
    private static final String FILE = "checkpoint";

    static Options flags() {
        return new Options()
                .addOption(Flags.valued("part", "basic (default), checkpoint, model-parallel or pipeline"))
                .addOption(Flags.valued("batch-size", "samples per rank and step, default 20"))
                .addOption(Flags.valued("steps", "steps of SGD, default 1"))
                .addOption(Flags.valued("lr", "learning rate, whatever the number of ranks, default 0.001"))
                .addOption(Flags.valued("seed", "seed of weights and samples, default 42"))
                .addOption(Flags.valued(
                        MICRO_BATCHES, "parts of a batch that follow each other through the pipeline, default 4"))
                .addOption(Flags.valued(
                        FILE,
                        "file of --part checkpoint, on a disk that all ranks see; default a temporary one on rank 0"))
                .addOption(TorchDevice.flag());
    }

    static String part(CommandLine line) throws ParseException {
        return Flags.oneOf(line, "part", PARTS);
    }

    static ToyOptions from(CommandLine line) throws ParseException {
        ToyOptions options = new ToyOptions(
                part(line),
                Flags.count(line, "batch-size", 20, 1),
                Flags.count(line, "steps", 1, 1),
                Flags.decimal(line, "lr", 0.001, rate -> rate > 0, "greater than 0"),
                Flags.number(line, "seed", 42, Long.MIN_VALUE),
                Flags.count(line, MICRO_BATCHES, 4, 1),
                Flags.path(line, FILE),
                TorchDevice.isCuda(line));
        options.require(line, PIPELINE, MICRO_BATCHES);
        options.require(line, CHECKPOINT, FILE);
        if (options.microBatches > options.batchSize) {
            throw new ParseException("--micro-batches is " + options.microBatches + ", expected at most --batch-size, "
                    + options.batchSize);
        }
        return options;
    }

    private void require(CommandLine line, String wanted, String flag) throws ParseException {
        if (line.hasOption(flag) && !part.equals(wanted)) {
            throw new ParseException("--" + flag + " is for --part " + wanted + ", found --part " + part);
        }
    }
}
