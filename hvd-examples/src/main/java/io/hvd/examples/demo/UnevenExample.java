package io.hvd.examples.demo;

import io.hvd.RankBody;
import io.hvd.examples.Example;
import io.hvd.examples.Flags;
import io.hvd.examples.QuickRun;
import java.util.List;
import org.apache.commons.cli.CommandLine;
import org.apache.commons.cli.Options;
import org.apache.commons.cli.ParseException;

/** Trains on ranks of which the last one has fewer batches: by joining, by padding and by dropping. */
public final class UnevenExample implements Example {
    static final String NAME = "uneven-data";

    @Override
    public String name() {
        return NAME;
    }

    @Override
    public String summary() {
        return "the last rank has fewer batches: join, pad or drop, the rank that joined last, the exact mean";
    }

    @Override
    public Options flags() {
        return new Options()
                .addOption(Flags.valued("batches", "batches of every rank but the last one, default 5"))
                .addOption(Flags.valued("fewer", "batches that the last rank has less, default 2"))
                .addOption(Flags.valued("batch-size", "samples per rank and batch, default 4"))
                .addOption(Flags.valued("lr", "learning rate, whatever the number of ranks, default 0.1"));
    }

    @Override
    public List<QuickRun> quickRuns() {
        return List.of(QuickRun.of("").onAtLeast(2));
    }

    @Override
    public RankBody<Integer> program(CommandLine line) throws ParseException {
        int batches = Flags.count(line, "batches", 5, 1);
        int fewer = Flags.count(line, "fewer", 2, 0);
        if (fewer >= batches) {
            throw new ParseException("--fewer is " + fewer + ", expected less than --batches, " + batches);
        }
        int batchSize = Flags.count(line, "batch-size", 4, 1);
        double rate = Flags.decimal(line, "lr", 0.1, value -> value > 0, "greater than 0");
        return hvd -> new UnevenTraining(hvd, batches, fewer, batchSize, rate).run();
    }
}
