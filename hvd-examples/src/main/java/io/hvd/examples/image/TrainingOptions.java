package io.hvd.examples.image;

import io.hvd.Compression;
import java.nio.file.Path;
import java.util.Optional;
import java.util.function.DoublePredicate;
import org.apache.commons.cli.CommandLine;
import org.apache.commons.cli.Option;
import org.apache.commons.cli.Options;
import org.apache.commons.cli.ParseException;

/** What the flags of an image example say. */
record TrainingOptions(
        int epochs,
        int batchSize,
        double learningRate,
        double decay,
        double momentum,
        Compression compression,
        int passes,
        long seed,
        int workers,
        long maxSteps,
        Optional<Path> checkpoint,
        boolean resume) {

    /** An example's own values for flags that are not given. */
    record Defaults(int epochs, int batchSize, double learningRate, double decay, double momentum) {}

    /** The flags, with the example's own defaults in their help. */
    static Options flags(Defaults defaults) {
        return new Options()
                .addOption(valued("epochs", "number of epochs, default " + defaults.epochs))
                .addOption(valued("batch-size", "samples per rank and backward pass, default " + defaults.batchSize))
                .addOption(valued(
                        "lr",
                        "learning rate for one rank, multiplied by their number, default " + defaults.learningRate))
                .addOption(
                        valued("lr-decay", "factor for the learning rate after every epoch, default " + defaults.decay))
                .addOption(valued("momentum", "momentum of SGD, default " + defaults.momentum))
                .addOption(null, "fp16-allreduce", false, "gradients travel as float16")
                .addOption(null, "bf16-allreduce", false, "gradients travel as bfloat16")
                .addOption(valued(
                        "backward-passes-per-step", "batches whose gradients are averaged locally first, default 1"))
                .addOption(valued("seed", "seed of weights, order and dropout, default 42"))
                .addOption(valued("workers", "threads that load batches, default 1"))
                .addOption(valued("max-steps", "stop after this many steps"))
                .addOption(valued("checkpoint", "file that rank 0 writes after each epoch"))
                .addOption(null, "resume", false, "continue from the checkpoint file if it is there")
                .addOption("h", "help", false, "this text");
    }

    /** The rate of every rank in an epoch, counted from 0, when so many take part. */
    double learningRate(int epoch, int ranks) {
        return learningRate * ranks * Math.pow(decay, epoch);
    }

    static Option valued(String name, String meaning) {
        return Option.builder().longOpt(name).hasArg().desc(meaning).get();
    }

    static TrainingOptions from(CommandLine line, Defaults defaults) throws ParseException {
        if (line.hasOption("fp16-allreduce") && line.hasOption("bf16-allreduce")) {
            throw new ParseException("--fp16-allreduce and --bf16-allreduce exclude each other");
        }
        if (line.hasOption("resume") && !line.hasOption("checkpoint")) {
            throw new ParseException("--resume needs --checkpoint FILE");
        }
        return new TrainingOptions(
                (int) number(line, "epochs", defaults.epochs, 1),
                (int) number(line, "batch-size", defaults.batchSize, 1),
                decimal(line, "lr", defaults.learningRate, rate -> rate > 0, "greater than 0"),
                decimal(line, "lr-decay", defaults.decay, factor -> factor > 0 && factor <= 1, "above 0, at most 1"),
                decimal(line, "momentum", defaults.momentum, share -> share >= 0 && share < 1, "from 0 to below 1"),
                line.hasOption("fp16-allreduce")
                        ? Compression.FP16
                        : line.hasOption("bf16-allreduce") ? Compression.BF16 : Compression.NONE,
                (int) number(line, "backward-passes-per-step", 1, 1),
                number(line, "seed", 42, Long.MIN_VALUE),
                (int) number(line, "workers", 1, 0),
                number(line, "max-steps", Long.MAX_VALUE, 1),
                Optional.ofNullable(line.getOptionValue("checkpoint")).map(Path::of),
                line.hasOption("resume"));
    }

    /**
     * @param allowed what the number must be, as {@code expected} says in words; infinity and NaN never are
     */
    static double decimal(CommandLine line, String name, double otherwise, DoublePredicate allowed, String expected)
            throws ParseException {
        String value = line.getOptionValue(name);
        try {
            double number = value == null ? otherwise : Double.parseDouble(value);
            if (Double.isFinite(number) && allowed.test(number)) {
                return number;
            }
        } catch (NumberFormatException e) {
            // answered below, like a number out of range
        }
        throw new ParseException("--" + name + " is \"" + value + "\", expected a number " + expected);
    }

    static long number(CommandLine line, String name, long otherwise, long least) throws ParseException {
        String value = line.getOptionValue(name);
        try {
            long number = value == null ? otherwise : Long.parseLong(value);
            if (number >= least) {
                return number;
            }
        } catch (NumberFormatException e) {
            // answered below, like a number that is too small
        }
        throw new ParseException("--" + name + " is \"" + value + "\", expected a whole number of at least " + least);
    }
}
