package io.hvd.examples.finetune;

import io.hvd.HvdContext;
import io.hvd.RankBody;
import io.hvd.error.HvdException;
import io.hvd.examples.Example;
import io.hvd.examples.QuickRun;
import io.hvd.examples.text.EveryRank;
import io.hvd.examples.text.TopicSentences;
import io.hvd.examples.training.RankMistakes;
import io.hvd.examples.training.TorchDevice;
import io.hvd.examples.training.WeightCheck;
import io.hvd.transformers.PretrainedModel;
import io.hvd.transformers.TextTokenizer;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.apache.commons.cli.CommandLine;
import org.apache.commons.cli.Options;
import org.apache.commons.cli.ParseException;

/** Adapts a BERT, a DistilBERT or a LLaMA to texts: all weights, or low-rank adapters. */
public final class FinetuneExample implements Example {
    @Override
    public String name() {
        return "finetune";
    }

    @Override
    public String summary() {
        return "a pretrained BERT, DistilBERT or LLaMA that is adapted to texts, all of its weights or by LoRA";
    }

    @Override
    public Options flags() {
        return FinetuneOptions.flags();
    }

    @Override
    public List<QuickRun> quickRuns() {
        return List.of(
                QuickRun.of("--preset quick"),
                QuickRun.of("--preset quick --task pairs"),
                QuickRun.of("--preset quick --task lm"));
    }

    @Override
    public RankBody<Integer> program(CommandLine line) throws ParseException {
        FinetuneOptions options = FinetuneOptions.from(line);
        return hvd -> run(hvd, options);
    }

    private static int run(HvdContext hvd, FinetuneOptions options) throws IOException, ParseException {
        TorchDevice device = TorchDevice.of(hvd, options.cuda());
        List<TextSample> samples = EveryRank.reads(hvd, () -> samples(options));
        PretrainedModel files = EveryRank.reads(hvd, () -> files(options, samples));
        TokenTexts texts = EveryRank.reads(hvd, () -> tokens(options, files, samples));
        EveryRank.requireSame(hvd, "finetune.texts", "texts", texts.checksum());
        FinetuneModel model = EveryRank.reads(
                hvd, () -> model(hvd, options, files, texts.labels().size(), device));
        WeightCheck read = WeightCheck.of(hvd, model.module()); // frozen ones are not broadcast
        if (!read.areEqual()) {
            throw new ParseException("--model, as the ranks have read it: " + read);
        }
        FinetuneTraining training = new FinetuneTraining(hvd, options, texts, model, device);
        if (options.save().isPresent()) {
            RankMistakes.requireNone(
                    hvd, "--save", () -> makeFolder(hvd, options.save().get()));
        }
        return training.run();
    }

    /** Before the training, which would be lost at its end. */
    private static void makeFolder(HvdContext hvd, Path folder) throws IOException {
        if (hvd.rank() == 0) {
            Files.createDirectories(folder);
            Files.delete(Files.createTempFile(folder, "writable", null));
        }
    }

    private static List<TextSample> samples(FinetuneOptions options) throws ParseException {
        if (options.data().isPresent()) {
            return new TextFiles(options.data().get(), options.task(), options.categories()).read();
        }
        return TopicSentences.texts(options.texts(), options.seed()).stream()
                .map(sentence -> drawn(options.task(), sentence.label(), sentence.words()))
                .toList();
    }

    private static TextSample drawn(Task task, String label, List<String> words) {
        int half = words.size() / 2;
        return task == Task.PAIRS
                ? new TextSample(
                        label,
                        String.join(" ", words.subList(0, half)),
                        String.join(" ", words.subList(half, words.size())))
                : new TextSample(label, String.join(" ", words), "");
    }

    private static PretrainedModel files(FinetuneOptions options, List<TextSample> samples) throws ParseException {
        if (options.model().isEmpty()) {
            return DrawnModel.of(options.task(), samples, options.longest(), options.seed());
        }
        try {
            return PretrainedModel.at(options.model().get());
        } catch (IOException | HvdException e) {
            throw new ParseException("--model " + options.model().get() + ": " + e.getMessage());
        }
    }

    private static FinetuneModel model(
            HvdContext hvd, FinetuneOptions options, PretrainedModel files, int labels, TorchDevice device)
            throws ParseException {
        try {
            return new FinetuneModel(hvd, options, files, labels, device);
        } catch (IOException | HvdException e) {
            throw new ParseException("--model " + files.source() + ": " + e.getMessage());
        }
    }

    private static TokenTexts tokens(FinetuneOptions options, PretrainedModel files, List<TextSample> samples)
            throws ParseException {
        try (TextTokenizer tokenizer = files.tokenizer(options.longest())) {
            TokenTexts texts = TokenTexts.of(options.task(), samples, tokenizer);
            if (texts.train().isEmpty() || texts.test().isEmpty()) {
                throw new ParseException(
                        samples.size() + " texts, of which " + texts.train().size()
                                + " to train on and " + texts.test().size()
                                + " for the test have enough tokens, expected some of both");
            }
            return texts;
        } catch (HvdException e) {
            throw new ParseException("--max-length " + options.longest() + ": " + e.getMessage());
        }
    }
}
