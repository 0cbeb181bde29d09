package io.hvd.examples.synthetic;

import io.hvd.RankBody;
import io.hvd.examples.Example;
import org.apache.commons.cli.CommandLine;
import org.apache.commons.cli.Options;
import org.apache.commons.cli.ParseException;

/** Horovod's synthetic benchmark: how many random images per second a net trains on. */
public final class SyntheticExample implements Example {
    static final String NAME = "synthetic-benchmark";

    @Override
    public String name() {
        return NAME;
    }

    @Override
    public String summary() {
        return "images per second of a residual net or dense layers, on random images";
    }

    @Override
    public Options flags() {
        return SyntheticOptions.flags();
    }

    @Override
    public RankBody<Integer> program(CommandLine line) throws ParseException {
        SyntheticOptions options = SyntheticOptions.from(line);
        return hvd -> {
            new SyntheticBenchmark(hvd, options).run();
            return 0;
        };
    }
}
