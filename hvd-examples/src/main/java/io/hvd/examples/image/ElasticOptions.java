package io.hvd.examples.image;

import io.hvd.examples.Flags;
import org.apache.commons.cli.CommandLine;
import org.apache.commons.cli.Options;
import org.apache.commons.cli.ParseException;

/**
 * The values of the flags of {@link ElasticExample}.
 *
 * @param killRank the rank of the first generation that ends itself by SIGKILL; -1 for none
 * @param killStep the step in the middle of which it does, counted from 1
 * @param sharded whether the optimizer's state is shared out to the ranks
 */
record ElasticOptions(
        int epochs, int batchSize, double learningRate, long seed, int killRank, long killStep, boolean sharded) {
    private static final int EPOCHS = 3;
    private static final int BATCH = 64;
    private static final double RATE = 0.05;
    private static final int SEED = 42;
    private static final int KILL_STEP = 41;

    static Options flags() {
        return new Options()
                .addOption(Flags.valued("epochs", "number of epochs, default " + EPOCHS))
                .addOption(Flags.valued("batch-size", "samples per rank and step, default " + BATCH))
                .addOption(Flags.valued("lr", "learning rate, whatever the number of ranks, default " + RATE))
                .addOption(Flags.valued("seed", "seed of weights, order and dropout, default " + SEED))
                .addOption(Flags.valued("kill-rank", "rank that kills itself, to see the others go on; default none"))
                .addOption(Flags.valued("kill-step", "the step in the middle of which it does, default " + KILL_STEP))
                .addOption(null, "sharded-optimizer", false, "share the optimizer's state out to the ranks");
    }

    static ElasticOptions from(CommandLine line) throws ParseException {
        return new ElasticOptions(
                Flags.count(line, "epochs", EPOCHS, 1),
                Flags.count(line, "batch-size", BATCH, 1),
                Flags.decimal(line, "lr", RATE, rate -> rate > 0, "above 0"),
                Flags.number(line, "seed", SEED, 0),
                line.hasOption("kill-rank") ? Flags.count(line, "kill-rank", 0, 0) : -1,
                Flags.number(line, "kill-step", KILL_STEP, 1),
                line.hasOption("sharded-optimizer"));
    }
}
