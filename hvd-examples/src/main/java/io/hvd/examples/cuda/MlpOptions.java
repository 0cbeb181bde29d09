package io.hvd.examples.cuda;

import io.hvd.Compression;
import io.hvd.examples.Flags;
import io.hvd.examples.image.MnistData;
import java.util.ArrayList;
import java.util.List;
import org.apache.commons.cli.CommandLine;
import org.apache.commons.cli.Options;
import org.apache.commons.cli.ParseException;

/**
 * The values of the flags of cuda-mlp.
 *
 * @param hidden widths of the hidden layers
 * @param learningRate learning rate of one rank
 */
record MlpOptions(
        String data,
        List<Integer> hidden,
        String optimizer,
        int epochs,
        int batchSize,
        double learningRate,
        double momentum,
        long seed,
        int workers,
        Compression compression) {
    static final String DIGITS = "digits";
    static final String ADAM = "adam";
    private static final List<String> DATA = List.of(DIGITS, "mnist");
    private static final List<String> OPTIMIZERS = List.of("sgd", ADAM);
    private static final int EPOCHS = 20;
    private static final int BATCH_SIZE = 32;
    private static final double SGD_RATE = 0.02;
    private static final double ADAM_RATE = 0.002;
    private static final double MOMENTUM = 0.9;
    private static final String HIDDEN = "128,64";

    static Options flags() {
        Options options = new Options()
                .addOption(Flags.valued("data", "digits (default), shipped in the jar, or mnist"))
                .addOption(Flags.valued("hidden", "widths of the hidden layers, default " + HIDDEN))
                .addOption(Flags.valued("optimizer", "sgd (default) or adam"))
                .addOption(Flags.valued("epochs", "number of epochs, default " + EPOCHS))
                .addOption(Flags.valued("batch-size", "samples per rank and step, default " + BATCH_SIZE))
                .addOption(Flags.valued(
                        "lr",
                        "learning rate of one rank, which is multiplied by the number of ranks, default " + SGD_RATE
                                + ", for adam " + ADAM_RATE))
                .addOption(Flags.valued("momentum", "momentum of sgd, default " + MOMENTUM))
                .addOption(Flags.valued("seed", "seed of weights and order, default 42"))
                .addOption(Flags.valued("workers", "threads that load batches into pinned memory, default 1"))
                .addOption(null, "fp16-allreduce", false, "gradients travel as float16");
        return MnistData.addFlags(options);
    }

    static MlpOptions from(CommandLine line) throws ParseException {
        String data = Flags.oneOf(line, "data", DATA);
        if (data.equals(DIGITS) && line.hasOption("data-dir")) {
            throw new ParseException("--data-dir needs --data mnist: the digits are in the jar");
        }
        String optimizer = Flags.oneOf(line, "optimizer", OPTIMIZERS);
        boolean adam = optimizer.equals(ADAM);
        if (adam && line.hasOption("momentum")) {
            throw new ParseException("--momentum is for --optimizer sgd");
        }
        return new MlpOptions(
                data,
                widths(line.getOptionValue("hidden", HIDDEN)),
                optimizer,
                Flags.count(line, "epochs", EPOCHS, 1),
                Flags.count(line, "batch-size", BATCH_SIZE, 1),
                Flags.decimal(line, "lr", adam ? ADAM_RATE : SGD_RATE, rate -> rate > 0, "greater than 0"),
                Flags.decimal(line, "momentum", MOMENTUM, share -> share >= 0 && share < 1, "from 0 to below 1"),
                Flags.number(line, "seed", 42, Long.MIN_VALUE),
                Flags.count(line, "workers", 1, 0),
                line.hasOption("fp16-allreduce") ? Compression.FP16 : Compression.NONE);
    }

    private static List<Integer> widths(String list) throws ParseException {
        List<Integer> widths = new ArrayList<>();
        for (String width : list.split(",", -1)) {
            if (!width.matches("[1-9]\\d{0,4}")) {
                throw new ParseException("--hidden is \"" + list
                        + "\", expected whole numbers from 1 to 99999 with commas between them");
            }
            widths.add(Integer.parseInt(width));
        }
        return widths;
    }

    /** The learning rate of every rank, for this number of ranks. */
    double learningRate(int ranks) {
        return learningRate * ranks;
    }
}
