package io.hvd.examples;

import io.hvd.optimizer.reduce.GradientReducer;
import io.hvd.optimizer.reduce.Int8;
import io.hvd.optimizer.reduce.PowerSgd;
import io.hvd.optimizer.reduce.TopK;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;
import org.apache.commons.cli.CommandLine;
import org.apache.commons.cli.Options;
import org.apache.commons.cli.ParseException;

/** The flags that have gradients compressed by more than a narrower type. */
public final class ReducerFlags {
    private static final String POWER_SGD = "power-sgd";
    private static final String TOP_K = "top-k";
    private static final String INT8 = "int8";
    private static final List<String> ALL = List.of(POWER_SGD, TOP_K, INT8);
    private static final int FIRST_COMPRESSED_STEP = 10;

    private ReducerFlags() {}

    public static void addTo(Options flags) {
        flags.addOption(Flags.valued(
                        POWER_SGD,
                        "gradients travel as matrices of this rank by PowerSGD, from step " + FIRST_COMPRESSED_STEP
                                + " on"))
                .addOption(Flags.valued(TOP_K, "this share of each gradient's elements travels, the largest ones"))
                .addOption(null, INT8, false, "gradients travel as a byte per element");
    }

    /** A maker of the reducer that a flag asks for, since each rank needs its own; empty without such a flag. */
    public static Optional<Supplier<GradientReducer>> of(CommandLine line) throws ParseException {
        requireAlone(line);
        if (line.hasOption(POWER_SGD)) {
            int rank = Flags.count(line, POWER_SGD, 1, 1);
            return Optional.of(() -> new PowerSgd(PowerSgd.Settings.ofRank(rank).startingAt(FIRST_COMPRESSED_STEP)));
        }
        if (line.hasOption(TOP_K)) {
            double fraction = Flags.decimal(line, TOP_K, 0.01, share -> share > 0 && share <= 1, "above 0, at most 1");
            return Optional.of(() -> new TopK(fraction));
        }
        return line.hasOption(INT8) ? Optional.of(Int8::new) : Optional.empty();
    }

    private static void requireAlone(CommandLine line) throws ParseException {
        List<String> asked = ALL.stream().filter(line::hasOption).toList();
        if (asked.size() > 1) {
            throw new ParseException("--" + asked.get(0) + " and --" + asked.get(1) + " exclude each other");
        }
        for (String other : List.of("fp16-allreduce", "bf16-allreduce", "use-adasum")) {
            if (!asked.isEmpty() && line.hasOption(other)) {
                throw new ParseException("--" + asked.get(0) + " and --" + other + " exclude each other");
            }
        }
        if (!asked.isEmpty() && "cuda".equals(line.getOptionValue("device"))) {
            throw new ParseException("--" + asked.get(0) + " and --device cuda exclude each other");
        }
    }
}
