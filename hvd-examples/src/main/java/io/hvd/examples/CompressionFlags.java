package io.hvd.examples;

import io.hvd.Compression;
import org.apache.commons.cli.CommandLine;
import org.apache.commons.cli.Options;
import org.apache.commons.cli.ParseException;

/** The flags that say in which type gradients travel. */
public final class CompressionFlags {
    private static final String FP16 = "fp16-allreduce";
    private static final String BF16 = "bf16-allreduce";

    private CompressionFlags() {}

    public static void addTo(Options flags) {
        flags.addOption(null, FP16, false, "gradients travel as float16")
                .addOption(null, BF16, false, "gradients travel as bfloat16");
    }

    public static Compression of(CommandLine line) throws ParseException {
        if (line.hasOption(FP16) && line.hasOption(BF16)) {
            throw new ParseException("--" + FP16 + " and --" + BF16 + " exclude each other");
        }
        return line.hasOption(FP16) ? Compression.FP16 : line.hasOption(BF16) ? Compression.BF16 : Compression.NONE;
    }
}
