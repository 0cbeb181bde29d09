package io.hvd.examples.image;

import io.hvd.Compression;
import io.hvd.examples.CompressionFlags;
import io.hvd.examples.Flags;
import io.hvd.examples.ReducerFlags;
import io.hvd.examples.training.AdasumFlag;
import io.hvd.examples.training.TorchDevice;
import io.hvd.optimizer.reduce.GradientReducer;
import io.hvd.train.Schedule;
import java.nio.file.Path;
import java.util.Optional;
import java.util.function.Supplier;
import org.apache.commons.cli.CommandLine;
import org.apache.commons.cli.Options;
import org.apache.commons.cli.ParseException;

/** The values of the flags of an image example. */
record TrainingOptions(
        int epochs,
        int batchSize,
        double learningRate,
        double decay,
        int warmUpEpochs,
        double momentum,
        Compression compression,
        Optional<Supplier<GradientReducer>> reducer,
        int groups,
        Precision precision,
        int passes,
        boolean noSync,
        long seed,
        int workers,
        long maxSteps,
        Optional<Path> checkpoint,
        boolean resume,
        CheckpointFlags series,
        RunFlags run,
        boolean sharded,
        boolean adasum,
        boolean cuda) {

    /** An example's default values. */
    record Defaults(int epochs, int batchSize, double learningRate, double decay, double momentum) {}

    /** The flags, whose help texts name the example's defaults. */
    static Options flags(Defaults defaults) {
        Options flags = new Options()
                .addOption(Flags.valued("epochs", "number of epochs, default " + defaults.epochs))
                .addOption(
                        Flags.valued("batch-size", "samples per rank and backward pass, default " + defaults.batchSize))
                .addOption(Flags.valued(
                        "lr",
                        "learning rate of one rank, which is multiplied by the number of ranks, default "
                                + defaults.learningRate))
                .addOption(Flags.valued(
                        "lr-decay", "factor for the learning rate after every epoch, default " + defaults.decay))
                .addOption(Flags.valued(
                        "warmup-epochs",
                        "epochs in which the learning rate grows from that of one rank to that of all, default 0"))
                .addOption(Flags.valued("momentum", "momentum of SGD, default " + defaults.momentum))
                .addOption(null, "fp16-allreduce", false, "gradients travel as float16")
                .addOption(null, "bf16-allreduce", false, "gradients travel as bfloat16")
                .addOption(Precision.flag())
                .addOption(Flags.valued(
                        "backward-passes-per-step",
                        "number of batches whose gradients are first averaged locally, default 1"))
                .addOption(null, "no-sync", false, "these batches are added up by noSync() instead of by the optimizer")
                .addOption(Flags.valued("seed", "seed of weights, order and dropout, default 42"))
                .addOption(Flags.valued("workers", "threads that load batches, default 1"))
                .addOption(Flags.valued("max-steps", "number of steps after which the training ends early"))
                .addOption(Flags.valued("checkpoint", "file that rank 0 writes after each epoch"))
                .addOption(null, "resume", false, "continue from the checkpoint file if it exists")
                .addOption(
                        null,
                        "sharded-optimizer",
                        false,
                        "every rank keeps the optimizer state of its share of the parameters only")
                .addOption(AdasumFlag.flag())
                .addOption(Flags.valued(
                        "num-groups",
                        "number of groups of parameters whose gradients travel together, default by size"))
                .addOption(RunFlags.flag())
                .addOption(TorchDevice.flag());
        ReducerFlags.addTo(flags);
        CheckpointFlags.addTo(flags);
        return flags;
    }

    /**
     * The learning rate of every rank, by the epoch, for this number of ranks. Adasum lengthens the steps itself where the ranks'
     * directions differ.
     */
    Schedule schedule(int ranks) {
        int factor = adasum ? 1 : ranks;
        Schedule whole = Schedule.factor(learningRate * factor, decay);
        return warmUpEpochs == 0 ? whole : whole.warmUp(factor, warmUpEpochs);
    }

    /** @throws ParseException if the flags do not go with this number of ranks */
    void requireRanks(int ranks) throws ParseException {
        if (adasum) {
            AdasumFlag.requireRanks(ranks);
        }
    }

    static TrainingOptions from(CommandLine line, Defaults defaults) throws ParseException {
        requireFileToResume(line);
        if (line.hasOption("no-sync") && Flags.count(line, "backward-passes-per-step", 1, 1) == 1) {
            throw new ParseException("--no-sync needs --backward-passes-per-step of 2 or more");
        }
        return new TrainingOptions(
                Flags.count(line, "epochs", defaults.epochs, 1),
                Flags.count(line, "batch-size", defaults.batchSize, 1),
                Flags.decimal(line, "lr", defaults.learningRate, rate -> rate > 0, "greater than 0"),
                Flags.decimal(
                        line, "lr-decay", defaults.decay, factor -> factor > 0 && factor <= 1, "above 0, at most 1"),
                Flags.count(line, "warmup-epochs", 0, 0),
                Flags.decimal(
                        line, "momentum", defaults.momentum, share -> share >= 0 && share < 1, "from 0 to below 1"),
                compression(line),
                ReducerFlags.of(line),
                Flags.count(line, "num-groups", 0, 0),
                Precision.of(line),
                Flags.count(line, "backward-passes-per-step", 1, 1),
                line.hasOption("no-sync"),
                Flags.number(line, "seed", 42, Long.MIN_VALUE),
                Flags.count(line, "workers", 1, 0),
                Flags.number(line, "max-steps", Long.MAX_VALUE, 1),
                Flags.path(line, "checkpoint"),
                line.hasOption("resume"),
                CheckpointFlags.of(line),
                RunFlags.of(line),
                line.hasOption("sharded-optimizer"),
                AdasumFlag.of(line),
                TorchDevice.isCuda(line));
    }

    static Compression compression(CommandLine line) throws ParseException {
        return CompressionFlags.of(line);
    }

    static void requireFileToResume(CommandLine line) throws ParseException {
        if (line.hasOption("resume") && line.hasOption("checkpoint-dir")) {
            throw new ParseException(
                    "--resume and --checkpoint-dir exclude each other: with the folder a training always goes on from its newest file");
        }
        if (line.hasOption("resume") && !line.hasOption("checkpoint")) {
            throw new ParseException("--resume needs --checkpoint FILE");
        }
    }
}
