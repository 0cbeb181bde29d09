package io.hvd.examples.text;

import io.hvd.Compression;
import io.hvd.examples.CompressionFlags;
import io.hvd.examples.Flags;
import io.hvd.examples.data.DataOrigin;
import io.hvd.examples.training.TorchDevice;
import java.nio.file.Path;
import java.util.Optional;
import org.apache.commons.cli.CommandLine;
import org.apache.commons.cli.Options;
import org.apache.commons.cli.ParseException;

/** The values of the flags of the language model. @param width characters of a sample */
record CharOptions(
        Optional<Path> data,
        int epochs,
        int batchSize,
        int width,
        int hidden,
        int layers,
        double learningRate,
        Compression compression,
        long seed,
        int workers,
        long maxSteps,
        int sample,
        boolean cuda) {

    static Options flags() {
        Options flags = new Options()
                .addOption(Flags.valued(
                        "data-file",
                        "text in UTF-8, the same on every host; without it the program writes sums in words"))
                .addOption(Flags.valued("epochs", "number of epochs, default 10"))
                .addOption(Flags.valued("batch-size", "samples per rank and step, default 16"))
                .addOption(Flags.valued("width", "characters of a sample, default 64"))
                .addOption(Flags.valued("hidden", "width of the LSTM layers, default 128"))
                .addOption(Flags.valued("layers", "number of LSTM layers, default 1"))
                .addOption(Flags.valued("lr", "learning rate of Adam, whatever the number of ranks, default 0.005"))
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
        return new CharOptions(
                Flags.path(line, "data-file"),
                Flags.count(line, "epochs", 10, 1),
                Flags.count(line, "batch-size", 16, 1),
                Flags.count(line, "width", 64, 1),
                Flags.count(line, "hidden", 128, 1),
                Flags.count(line, "layers", 1, 1),
                Flags.decimal(line, "lr", 0.005, rate -> rate > 0, "greater than 0"),
                CompressionFlags.of(line),
                Flags.number(line, "seed", 42, Long.MIN_VALUE),
                Flags.count(line, "workers", 1, 0),
                Flags.number(line, "max-steps", Long.MAX_VALUE, 1),
                Flags.count(line, "sample", 200, 0),
                TorchDevice.isCuda(line));
    }
}
