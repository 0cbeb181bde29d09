package io.hvd.examples.text;

import io.hvd.Compression;
import io.hvd.examples.CompressionFlags;
import io.hvd.examples.Flags;
import io.hvd.examples.data.DataOrigin;
import io.hvd.examples.training.TorchDevice;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.apache.commons.cli.CommandLine;
import org.apache.commons.cli.Options;
import org.apache.commons.cli.ParseException;

/**
 * The values of the flags of the language model.
 *
 * @param width characters of a sample
 * @param passes batches whose gradients are averaged locally before each step
 * @param clip the largest norm of the averaged gradients; 0 for any
 */
record CharOptions(
        Optional<Path> data,
        Net net,
        int epochs,
        int batchSize,
        int width,
        int passes,
        double learningRate,
        double clip,
        boolean bf16,
        Compression compression,
        long seed,
        int workers,
        long maxSteps,
        int sample,
        boolean cuda) {
    private static final String PRESET = "preset";
    private static final int FULL_EPOCHS = 10;
    private static final int QUICK_EPOCHS = 2;
    private static final int FULL_HIDDEN = 128;
    private static final int QUICK_HIDDEN = 64;

    /** The net. @param heads of the attention; an LSTM has none */
    record Net(CharModel.Kind kind, int hidden, int layers, int heads) {
        static Net from(CommandLine line, boolean quick) throws ParseException {
            CharModel.Kind kind = CharModel.Kind.of(Flags.oneOf(line, "model", CharModel.Kind.words()));
            boolean transformer = kind == CharModel.Kind.TRANSFORMER;
            if (line.hasOption("heads") && !transformer) {
                throw new ParseException("--heads needs --model transformer: an LSTM has no attention");
            }
            Net net = new Net(
                    kind,
                    Flags.count(line, "hidden", quick ? QUICK_HIDDEN : FULL_HIDDEN, 1),
                    Flags.count(line, "layers", transformer ? 2 : 1, 1),
                    Flags.count(line, "heads", 4, 1));
            if (transformer && net.hidden % net.heads != 0) {
                throw new ParseException("--hidden is " + net.hidden + ", expected a multiple of the " + net.heads
                        + " --heads, among which the transformer divides it");
            }
            return net;
        }

        CharModel build(int letters, int width) {
            return kind == CharModel.Kind.LSTM
                    ? new CharLstm(letters, hidden, layers)
                    : new CharTransformer(letters, width, hidden, layers, heads);
        }
    }

    static Options flags() {
        Options flags = new Options()
                .addOption(Flags.valued(
                        "data-file",
                        "text in UTF-8, the same on every host; without it the program writes sums in words"))
                .addOption(Flags.valued("model", "lstm (default) or transformer"))
                .addOption(Flags.valued(
                        PRESET,
                        "quick: stands for --epochs " + QUICK_EPOCHS + " --hidden " + QUICK_HIDDEN
                                + "; flags on the command line win over it"))
                .addOption(Flags.valued("epochs", "number of epochs, default " + FULL_EPOCHS))
                .addOption(Flags.valued("batch-size", "samples per rank and backward pass, default 16"))
                .addOption(Flags.valued("width", "characters of a sample, default 64"))
                .addOption(Flags.valued("hidden", "width of the layers, default " + FULL_HIDDEN))
                .addOption(Flags.valued(
                        "layers", "number of LSTM layers, default 1, or of the decoder's blocks, default 2"))
                .addOption(Flags.valued("heads", "heads of the transformer's attention, default 4"))
                .addOption(Flags.valued(
                        "lr",
                        "learning rate of Adam, whatever the number of ranks; default 0.005, of the transformer 0.002"))
                .addOption(Flags.valued(
                        "backward-passes-per-step",
                        "number of batches whose gradients are first averaged locally, default 1"))
                .addOption(Flags.valued(
                        "clip", "the largest norm of the averaged gradients, default 1; 0 leaves them as they are"))
                .addOption(null, "bf16", false, "computes in bfloat16 what can be computed in it, by autocast")
                .addOption(Flags.valued("seed", "seed of text, weights, order and sample, default 42"))
                .addOption(Flags.valued("workers", "threads that load batches, default 1"))
                .addOption(Flags.valued("max-steps", "number of steps after which the training ends early"))
                .addOption(Flags.valued("sample", "characters that the model writes at the end, default 200"))
                .addOption(TorchDevice.flag());
        CompressionFlags.addTo(flags);
        return flags;
    }

    DataOrigin origin() {
        return data.isPresent() ? DataOrigin.FILES : DataOrigin.DRAWN;
    }

    static CharOptions from(CommandLine line) throws ParseException {
        boolean quick = line.hasOption(PRESET);
        if (quick) {
            Flags.oneOf(line, PRESET, List.of("quick"));
        }
        Net net = Net.from(line, quick);
        return new CharOptions(
                Flags.path(line, "data-file"),
                net,
                Flags.count(line, "epochs", quick ? QUICK_EPOCHS : FULL_EPOCHS, 1),
                Flags.count(line, "batch-size", 16, 1),
                Flags.count(line, "width", 64, 1),
                Flags.count(line, "backward-passes-per-step", 1, 1),
                Flags.decimal(
                        line,
                        "lr",
                        net.kind == CharModel.Kind.LSTM ? 0.005 : 0.002,
                        rate -> rate > 0,
                        "greater than 0"),
                Flags.decimal(line, "clip", 1, norm -> norm >= 0, "of at least 0"),
                line.hasOption("bf16"),
                CompressionFlags.of(line),
                Flags.number(line, "seed", 42, Long.MIN_VALUE),
                Flags.count(line, "workers", 1, 0),
                Flags.number(line, "max-steps", Long.MAX_VALUE, 1),
                Flags.count(line, "sample", 200, 0),
                TorchDevice.isCuda(line));
    }
}
