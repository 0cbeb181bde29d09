package io.hvd.examples.training;

import java.util.List;
import org.apache.commons.cli.CommandLine;
import org.apache.commons.cli.Option;
import org.apache.commons.cli.ParseException;

/** The flag that has the ranks combine their steps by Adasum. */
public final class AdasumFlag {
    private static final String FLAG = "use-adasum";

    /** Adasum combines whole steps in the host's memory, so there are no gradients on the way and no shares. */
    private static final List<String> OTHERS = List.of(
            "fp16-allreduce",
            "bf16-allreduce",
            "backward-passes-per-step",
            "batches-per-allreduce",
            "sharded-optimizer");

    private AdasumFlag() {}

    public static Option flag() {
        return Option.builder()
                .longOpt(FLAG)
                .desc("combine the ranks' steps by Adasum; the number of ranks is a power of two")
                .get();
    }

    /** Whether Adasum is asked for. @throws ParseException if it is, together with what it does not go with */
    public static boolean of(CommandLine line) throws ParseException {
        if (!line.hasOption(FLAG)) {
            return false;
        }
        if (TorchDevice.isCuda(line)) {
            throw new ParseException("--" + FLAG + " and --device cuda exclude each other");
        }
        for (String other : OTHERS) {
            if (line.hasOption(other)) {
                throw new ParseException("--" + FLAG + " and --" + other + " exclude each other");
            }
        }
        return true;
    }

    /** @throws ParseException if Adasum cannot combine the steps of so many ranks */
    public static void requireRanks(int ranks) throws ParseException {
        int below = Integer.highestOneBit(ranks);
        if (below != ranks) {
            throw new ParseException("--" + FLAG + " needs a number of ranks that is a power of two: found " + ranks
                    + " ranks, expected " + below + " or " + 2 * below);
        }
    }
}
