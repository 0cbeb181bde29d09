package io.hvd.examples.text;

import io.hvd.examples.Flags;
import io.hvd.examples.data.DataOrigin;
import io.hvd.examples.training.GlobalBatch;
import io.hvd.examples.training.ParallelMode;
import io.hvd.examples.training.TorchDevice;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.apache.commons.cli.CommandLine;
import org.apache.commons.cli.Options;
import org.apache.commons.cli.ParseException;

/**
 * The values of the flags of the classifier of sentences.
 *
 * @param globalBatch sentences in a step of all ranks or devices together
 * @param longest words of a sentence that are kept
 * @param sparseRows whether the embedding's gradients travel as rows
 */
record TextCnnOptions(
        Optional<Path> data,
        Optional<Path> vectors,
        int sentences,
        int globalBatch,
        int longest,
        int dimensions,
        boolean sparseRows,
        int epochs,
        long maxSteps,
        double learningRate,
        long seed,
        int workers,
        ParallelMode mode,
        boolean cuda) {
    private static final String ROWS = "rows";
    private static final String DENSE = "dense";

    /** Values of flags that are not given. */
    private enum Preset {
        FULL(20_000, 500, 300, 10),
        QUICK(8_000, 100, 64, 4);

        final int sentences;
        final int globalBatch;
        final int dimensions;
        final int epochs;

        Preset(int sentences, int globalBatch, int dimensions, int epochs) {
            this.sentences = sentences;
            this.globalBatch = globalBatch;
            this.dimensions = dimensions;
            this.epochs = epochs;
        }

        static Preset of(CommandLine line) throws ParseException {
            if (!line.hasOption("preset")) {
                return FULL;
            }
            Flags.oneOf(line, "preset", List.of("quick"));
            return QUICK;
        }

        String inFlags() {
            return "--sentences " + sentences + " --global-batch " + globalBatch + " --embedding-dim " + dimensions
                    + " --epochs " + epochs;
        }
    }

    static Options flags() {
        Preset full = Preset.FULL;
        Options flags = new Options()
                .addOption(Flags.valued(
                        "data",
                        "text in UTF-8, the same on every host, with LABEL TAB TEXT in each line; every tenth is for the"
                                + " test. Without it the program draws sentences about five topics"))
                .addOption(Flags.valued(
                        "vectors", "word vectors in word2vec's text format, with which the embedding begins"))
                .addOption(Flags.valued("sentences", "sentences to draw, default " + full.sentences))
                .addOption(Flags.valued(
                        "global-batch",
                        "sentences per step of all ranks or devices together, default " + full.globalBatch
                                + "; a multiple of the number of ranks"))
                .addOption(Flags.valued("sentence-max-size", "words of a sentence that are kept, default 50"))
                .addOption(Flags.valued(
                        "embedding-dim",
                        "dimensions of the word vectors, default " + full.dimensions + " or the file's"))
                .addOption(Flags.valued(
                        "sparse",
                        "dense (default): the embedding's gradient travels whole; rows: only the rows of the words in the"
                                + " batch do, and Adagrad steps the embedding, since LibTorch's Adam takes no rows"))
                .addOption(Flags.valued("epochs", "number of epochs, default " + full.epochs))
                .addOption(Flags.valued("max-steps", "number of steps after which the training ends early"))
                .addOption(Flags.valued("lr", "learning rate of Adam, whatever the number of ranks, default 0.001"))
                .addOption(Flags.valued("seed", "seed of sentences, weights, order and dropout, default 42"))
                .addOption(Flags.valued("workers", "threads per rank that load batches, default 2"))
                .addOption(Flags.valued(
                        "preset",
                        "quick: less than a minute on two cores. Stands for " + Preset.QUICK.inFlags()
                                + "; flags on the command line win over it"))
                .addOption(TorchDevice.flag());
        ParallelMode.addTo(flags);
        return flags;
    }

    DataOrigin origin() {
        return data.isPresent() ? DataOrigin.FILES : DataOrigin.DRAWN;
    }

    static TextCnnOptions from(CommandLine line) throws ParseException {
        Preset preset = Preset.of(line);
        TextCnnOptions options = new TextCnnOptions(
                Flags.path(line, "data"),
                Flags.path(line, "vectors"),
                Flags.count(line, "sentences", preset.sentences, 100),
                Flags.count(line, "global-batch", preset.globalBatch, 1),
                Flags.count(line, "sentence-max-size", 50, TextCnn.SHORTEST_SENTENCE),
                Flags.count(line, "embedding-dim", preset.dimensions, 1),
                Flags.oneOf(line, "sparse", List.of(DENSE, ROWS)).equals(ROWS),
                Flags.count(line, "epochs", preset.epochs, 1),
                Flags.number(line, "max-steps", Long.MAX_VALUE, 1),
                Flags.decimal(line, "lr", 1e-3, rate -> rate > 0, "greater than 0"),
                Flags.number(line, "seed", 42, Long.MIN_VALUE),
                Flags.count(line, "workers", 2, 0),
                ParallelMode.of(line),
                TorchDevice.isCuda(line));
        options.requireFit(line);
        return options;
    }

    private void requireFit(CommandLine line) throws ParseException {
        if (data.isPresent() && line.hasOption("sentences")) {
            throw new ParseException("--sentences is of those that the program draws; with --data all are read");
        }
        if (vectors.isPresent() && line.hasOption("embedding-dim")) {
            throw new ParseException("--embedding-dim beside --vectors: the file says how many dimensions there are");
        }
        if (sparseRows && mode.isDataParallel()) {
            throw new ParseException("--sparse rows beside --mode dp: the copies of one process carry dense gradients");
        }
    }

    /** The number of sentences in a rank's part of the batch. */
    int batchPerRank(int ranks) throws ParseException {
        return new GlobalBatch("global-batch", globalBatch).ofEachOf(ranks);
    }

    /** Reads or draws the sentences. @throws ParseException if the file is no such text */
    Corpus corpus() throws ParseException {
        return Corpus.of(
                data.isPresent() ? LabelledSentences.of(data.get()) : TopicSentences.of(sentences, seed), longest);
    }
}
