package io.hvd.examples.image;

import io.hvd.examples.Flags;
import io.hvd.examples.training.TorchDevice;
import io.hvd.train.Schedule;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.apache.commons.cli.CommandLine;
import org.apache.commons.cli.Options;
import org.apache.commons.cli.ParseException;

/**
 * The values of the flags of {@link MnistCallbacksExample}.
 *
 * @param adadelta as in Horovod's example, or else Adam
 * @param steps of an epoch, of all ranks together
 * @param logInterval steps between two lines within an epoch; 0 for none
 * @param patience epochs without a better test loss before the rate becomes a tenth; 0 for never
 */
record CallbacksOptions(
        int epochs,
        int steps,
        int batchSize,
        boolean adadelta,
        double learningRate,
        int warmUpEpochs,
        int patience,
        long seed,
        Optional<Path> checkpoint,
        int logInterval,
        RunFlags run,
        boolean cuda) {
    private static final int PLATEAU_PATIENCE = 10;
    private static final CallbacksOptions FULL =
            new CallbacksOptions(24, 500, 128, false, 0.001, 3, 0, 42, Optional.empty(), 0, RunFlags.NONE, false);
    private static final double ADADELTA_RATE = 1;
    private static final int QUICK_EPOCHS = 5;
    private static final int QUICK_STEPS = 20;

    static Options flags() {
        return new Options()
                .addOption(Flags.valued("epochs", "number of epochs, default " + FULL.epochs))
                .addOption(Flags.valued(
                        "steps", "steps of an epoch, which are divided by the number of ranks, default " + FULL.steps))
                .addOption(Flags.valued("batch-size", "samples per rank and step, default " + FULL.batchSize))
                .addOption(Flags.valued(
                        "lr",
                        "learning rate of one rank, which is multiplied by the number of ranks, default "
                                + FULL.learningRate + ", with adadelta " + ADADELTA_RATE))
                .addOption(Flags.valued("optimizer", "adam (default), or adadelta, as in Horovod's example"))
                .addOption(Flags.valued(
                        "warmup-epochs",
                        "epochs in which the rate grows from that of one rank to that of all, default "
                                + FULL.warmUpEpochs))
                .addOption(Flags.valued(
                        "plateau",
                        "epochs without a better test loss before the rate becomes a tenth, such as " + PLATEAU_PATIENCE
                                + "; default 0, never"))
                .addOption(Flags.valued("seed", "seed of weights, order and dropout, default " + FULL.seed))
                .addOption(Flags.valued("checkpoint", "file that rank 0 writes after each epoch"))
                .addOption(
                        Flags.valued(
                                "log-interval",
                                "steps between two lines of rank 0 within an epoch, or on a terminal a bar; default 0, neither"))
                .addOption(RunFlags.flag())
                .addOption(Flags.valued(
                        "preset",
                        "quick: --epochs " + QUICK_EPOCHS + " --steps " + QUICK_STEPS + ", unless they are given"))
                .addOption(TorchDevice.flag());
    }

    static CallbacksOptions from(CommandLine line) throws ParseException {
        boolean quick = line.hasOption("preset")
                && !Flags.oneOf(line, "preset", List.of("quick")).isEmpty();
        boolean adadelta =
                Flags.oneOf(line, "optimizer", List.of("adam", "adadelta")).equals("adadelta");
        return new CallbacksOptions(
                Flags.count(line, "epochs", quick ? QUICK_EPOCHS : FULL.epochs, 1),
                Flags.count(line, "steps", quick ? QUICK_STEPS : FULL.steps, 1),
                Flags.count(line, "batch-size", FULL.batchSize, 1),
                adadelta,
                Flags.decimal(
                        line, "lr", adadelta ? ADADELTA_RATE : FULL.learningRate, rate -> rate > 0, "greater than 0"),
                Flags.count(line, "warmup-epochs", FULL.warmUpEpochs, 0),
                Flags.count(line, "plateau", 0, 0),
                Flags.number(line, "seed", FULL.seed, Long.MIN_VALUE),
                Flags.path(line, "checkpoint"),
                Flags.count(line, "log-interval", FULL.logInterval, 0),
                RunFlags.of(line, false),
                TorchDevice.isCuda(line));
    }

    /** Steps of an epoch on each of so many ranks. */
    int steps(int ranks) {
        return Math.max(1, steps / ranks);
    }

    /** The learning rate of every rank, by the epoch. */
    Schedule schedule(int ranks) {
        Schedule whole = Schedule.fixed(learningRate * ranks);
        return warmUpEpochs == 0 ? whole : whole.warmUp(ranks, warmUpEpochs, steps(ranks));
    }
}
