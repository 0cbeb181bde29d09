package io.hvd.examples.gan;

import io.hvd.RankBody;
import io.hvd.examples.Example;
import org.apache.commons.cli.CommandLine;
import org.apache.commons.cli.Options;
import org.apache.commons.cli.ParseException;

/** Two nets that are trained against each other, with an optimizer each. */
public final class GanExample implements Example {
    @Override
    public String name() {
        return "gan";
    }

    @Override
    public String summary() {
        return "two nets and two optimizers: a generator that learns to place points around eight modes on a circle";
    }

    @Override
    public Options flags() {
        return GanOptions.flags();
    }

    @Override
    public RankBody<Integer> program(CommandLine line) throws ParseException {
        GanOptions options = GanOptions.from(line);
        return hvd -> new GanTraining(hvd, options).run();
    }
}
