package io.hvd.examples.demo;

import io.hvd.RankBody;
import io.hvd.examples.Example;
import io.hvd.examples.Flags;
import io.hvd.examples.QuickRun;
import java.util.ArrayList;
import java.util.List;
import org.apache.commons.cli.CommandLine;
import org.apache.commons.cli.Options;
import org.apache.commons.cli.ParseException;

/** Fits a polynomial with several learning rates, where the ranks combine their gradients by sum, by average and by Adasum. */
public final class AdasumExample implements Example {
    static final String NAME = "adasum-demo";
    private static final String RATES = "0.02,0.05,0.1,0.2,0.4,0.8";

    @Override
    public String name() {
        return NAME;
    }

    @Override
    public String summary() {
        return "the final loss of a regression by learning rate, with sum, average and Adasum; 1, 2, 4, 8 ... ranks";
    }

    @Override
    public Options flags() {
        return new Options()
                .addOption(Flags.valued("degree", "degree of the polynomial, 2 (default) or 3"))
                .addOption(Flags.valued("steps", "steps of SGD for each learning rate, default 100"))
                .addOption(Flags.valued("batch-size", "samples per rank and step, default 16"))
                .addOption(Flags.valued("rates", "learning rates with commas between them, default " + RATES))
                .addOption(Flags.valued("seed", "seed of the samples, default 42"));
    }

    @Override
    public List<QuickRun> quickRuns() {
        return List.of(QuickRun.of("--degree 2"), QuickRun.of("--degree 3"));
    }

    @Override
    public RankBody<Integer> program(CommandLine line) throws ParseException {
        int degree = Integer.parseInt(Flags.oneOf(line, "degree", List.of("2", "3")));
        int steps = Flags.count(line, "steps", 100, 1);
        int batchSize = Flags.count(line, "batch-size", 16, 1);
        List<Double> rates = rates(line.getOptionValue("rates", RATES));
        long seed = Flags.number(line, "seed", 42, Long.MIN_VALUE);
        return hvd -> new AdasumTraining(hvd, degree, steps, batchSize, seed).run(rates);
    }

    private static List<Double> rates(String list) throws ParseException {
        List<Double> rates = new ArrayList<>();
        for (String rate : list.split(",", -1)) {
            if (!rate.matches("\\d{1,9}(\\.\\d{1,9})?") || Double.parseDouble(rate) == 0) {
                throw new ParseException(
                        "--rates is \"" + list + "\", expected numbers above 0 with commas between them");
            }
            rates.add(Double.parseDouble(rate));
        }
        return rates;
    }
}
