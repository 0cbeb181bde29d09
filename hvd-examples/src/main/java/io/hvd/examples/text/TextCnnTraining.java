package io.hvd.examples.text;

import static org.bytedeco.pytorch.global.torch.nll_loss;

import io.hvd.HvdContext;
import io.hvd.data.Dataset;
import io.hvd.data.DistributedSampler;
import io.hvd.data.EvalSampler;
import io.hvd.data.Sampler;
import io.hvd.examples.ExampleFailure;
import io.hvd.examples.training.FiniteLoss;
import io.hvd.examples.training.RunTotals;
import io.hvd.examples.training.SpreadModel;
import io.hvd.examples.training.TorchDevice;
import io.hvd.examples.training.WeightCheck;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.optimizer.torch.TorchBatch;
import io.hvd.optimizer.torch.TorchLoader;
import io.hvd.optimizer.torch.TorchOptimizer;
import io.hvd.train.MeanMetric;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import org.apache.commons.cli.ParseException;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Adagrad;
import org.bytedeco.pytorch.AdagradOptions;
import org.bytedeco.pytorch.Adam;
import org.bytedeco.pytorch.AdamOptions;
import org.bytedeco.pytorch.LongOptional;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Tensor;

/** Trains a TextCNN on every rank's share of each batch, and evaluates it on every sentence of the test once. */
final class TextCnnTraining implements AutoCloseable {
    private static final int STEPS_BETWEEN_LINES = 100;
    private static final int TEST_BATCH = 250;
    private static final double EMBEDDING_RATE = 0.05;
    /** The numbers that Adam keeps for each number of a parameter, and Adagrad. */
    private static final int ADAM_MOMENTS = 2;

    private static final int WEIGHTS_DIFFER = 1;

    private final HvdContext hvd;
    private final TextCnnOptions options;
    private final Corpus corpus;
    private final int batchPerRank;
    private final TorchDevice device;
    private final SpreadModel<TextCnn> spread;
    private final TextCnn model;
    private final List<DistributedOptimizer> optimizers;
    private final RunTotals totals = new RunTotals();
    private long sentBytes;

    /** @throws ParseException on all ranks, if flags do not fit the number of ranks, or the file of word vectors is no such file */
    TextCnnTraining(HvdContext hvd, TextCnnOptions options, Corpus corpus) throws ParseException {
        this.hvd = hvd;
        this.options = options;
        this.corpus = corpus;
        this.batchPerRank = options.batchPerRank(hvd.size());
        Optional<WordVectors> vectors = vectors();
        this.device = TorchDevice.of(hvd, options.cuda());
        int dimensions = vectors.map(WordVectors::dimensions).orElse(options.dimensions());
        // Rows become a dense gradient on their way to other ranks; on one rank nothing travels, and Adam would get the
        // rows.
        boolean sparse = options.sparseRows() || hvd.size() > 1;
        this.spread = SpreadModel.of(
                hvd,
                options.mode(),
                device,
                options.seed(),
                () -> new TextCnn(
                        corpus.words().size(), dimensions, corpus.labels().size(), sparse));
        this.model = spread.module();
        seedDropout();
        vectors.ifPresent(some -> say(
                "%d of %d words begin with the vectors of %s",
                model.load(some, corpus.words()),
                corpus.words().size(),
                options.vectors().get()));
        this.optimizers = options.sparseRows() ? List.of(layers(), rows()) : List.of(everything());
    }

    private Optional<WordVectors> vectors() throws ParseException {
        if (options.vectors().isEmpty()) {
            return Optional.empty();
        }
        WordVectors read =
                EveryRank.reads(hvd, () -> WordVectors.of(options.vectors().get(), corpus.words()));
        EveryRank.requireSame(hvd, "textcnn.vectors.same", "word vectors", read.checksum());
        return Optional.of(read);
    }

    /** Every rank and every device has masks of its own. */
    private void seedDropout() {
        List<TextCnn> replicas = spread.replicas();
        for (int i = 0; i < replicas.size(); i++) {
            replicas.get(i).seedDropout(options.seed() + hvd.rank() + i);
        }
    }

    private DistributedOptimizer everything() {
        Adam adam = new Adam(model.parameters(), new AdamOptions(options.learningRate()));
        return DistributedOptimizer.wrap(new TorchOptimizer(adam, model.named_parameters(), true))
                .context(hvd)
                .build();
    }

    private DistributedOptimizer layers() {
        Adam adam = new Adam(model.layers().parameters(), new AdamOptions(options.learningRate()));
        return DistributedOptimizer.wrap(new TorchOptimizer(adam, model.layers().named_parameters()))
                .context(hvd)
                .scope("layers")
                .build();
    }

    private DistributedOptimizer rows() {
        Adagrad adagrad = new Adagrad(model.embedding().parameters(), new AdagradOptions(EMBEDDING_RATE));
        return DistributedOptimizer.wrap(
                        new TorchOptimizer(adagrad, model.embedding().named_parameters(), List.of("weight")))
                .context(hvd)
                .scope("embedding")
                .build();
    }

    /** The mean of the negative logarithms of the probabilities of the right labels, and the share of right guesses. */
    private record Evaluation(double loss, double accuracy, long samples) {}

    /** Trains all epochs; rank 0 prints. @return the exit code */
    int run() throws ExampleFailure {
        say(
                "%d sentences to train on and %d for the test, %d labels, %d words; batches of %d on each of %d rank(s), mode %s"
                        + " with %d device(s) each",
                corpus.train().size(),
                corpus.test().size(),
                corpus.labels().size(),
                corpus.words().size(),
                batchPerRank,
                hvd.size(),
                options.mode().word(),
                options.mode().devices());
        for (DistributedOptimizer optimizer : optimizers) {
            optimizer.broadcastParameters(0);
            optimizer.broadcastOptimizerState(0);
        }
        DistributedSampler sampler = DistributedSampler.builder(corpus.train().size(), hvd.size(), hvd.rank())
                .seed(options.seed())
                .build();
        int epoch = 0;
        try (TorchLoader<Corpus.Sample> loader = loader(corpus.train(), sampler, batchPerRank)) {
            for (; epoch < options.epochs() && totals.steps() < options.maxSteps(); epoch++) {
                sampler.setEpoch(epoch);
                train(loader, epoch);
            }
        }
        return finish(epoch, evaluate());
    }

    private TorchLoader<Corpus.Sample> loader(List<Corpus.Sample> samples, Sampler sampler, int batchSize) {
        return TorchLoader.builder(Dataset.of(samples), sampler, new SentenceLayout(options.longest()))
                .batchSize(batchSize)
                .workers(options.workers())
                .on(device.of(hvd))
                .build();
    }

    private void train(TorchLoader<Corpus.Sample> loader, int epoch) throws ExampleFailure {
        long start = System.nanoTime();
        spread.module().train(true);
        Progress progress = new Progress();
        int step = 0;
        for (TorchBatch batch : loader) {
            progress.add(step(batch), batch.size());
            if (++step % STEPS_BETWEEN_LINES == 0) {
                progress.say(epoch, step, loader.batches());
            }
            if (totals.steps() >= options.maxSteps()) {
                break;
            }
        }
        double seconds = (System.nanoTime() - start) / 1e9;
        totals.trained(seconds);
        totals.waited(loader.waitNanos());
        if (step % STEPS_BETWEEN_LINES != 0) {
            progress.say(epoch, step, loader.batches());
        }
        say("epoch %d/%d: %.2f s", epoch + 1, options.epochs(), seconds);
    }

    /** The result of the steps since the last line, over all ranks. */
    private final class Progress {
        private MeanMetric losses = new MeanMetric("training_loss");
        private MeanMetric hits = new MeanMetric("training_accuracy");

        void add(Step step, int samples) {
            losses.add(step.loss * samples, samples);
            hits.add(step.hits, samples);
        }

        /** Every rank calls it. */
        void say(int epoch, int step, int steps) throws ExampleFailure {
            double loss = losses.reduce(hvd).mean();
            double accuracy = hits.reduce(hvd).mean();
            TextCnnTraining.this.say(
                    "epoch %d/%d step %d/%d: loss %.4f, accuracy %.4f",
                    epoch + 1, options.epochs(), step, steps, loss, accuracy);
            FiniteLoss.require(loss, "the training loss of step " + step + " in epoch " + (epoch + 1));
            losses = new MeanMetric("training_loss");
            hits = new MeanMetric("training_accuracy");
        }
    }

    private record Step(double loss, long hits) {}

    private Step step(TorchBatch batch) {
        try (PointerScope scope = new PointerScope()) {
            optimizers.forEach(DistributedOptimizer::zeroGradients);
            Tensor scores = spread.forward(TextCnn::forward, batch.fields().get(SentenceLayout.WORDS));
            Tensor labels = batch.fields().get(SentenceLayout.LABELS);
            Tensor loss = nll_loss(scores, labels);
            loss.backward();
            optimizers.forEach(DistributedOptimizer::step);
            totals.stepped(optimizers.get(0).lastStep());
            sentBytes += optimizers.stream()
                    .mapToLong(optimizer -> optimizer.lastStep().bytesSent())
                    .sum();
            totals.saw(batch.size());
            return new Step(loss.item_float(), hits(scores, labels));
        }
    }

    private static long hits(Tensor scores, Tensor labels) {
        return scores.argmax(new LongOptional(1), false).eq(labels).sum().item_long();
    }

    private Evaluation evaluate() throws ExampleFailure {
        model.train(false);
        MeanMetric losses = new MeanMetric("loss");
        MeanMetric hits = new MeanMetric("accuracy");
        EvalSampler everyOne = new EvalSampler(corpus.test().size(), hvd.size(), hvd.rank());
        try (TorchLoader<Corpus.Sample> loader = loader(corpus.test(), everyOne, TEST_BATCH)) {
            for (TorchBatch batch : loader) {
                try (PointerScope scope = new PointerScope();
                        NoGradGuard guard = new NoGradGuard()) {
                    Tensor scores = model.forward(batch.fields().get(SentenceLayout.WORDS));
                    Tensor labels = batch.fields().get(SentenceLayout.LABELS);
                    losses.add(nll_loss(scores, labels).item_float() * (double) batch.size(), batch.size());
                    hits.add(hits(scores, labels), batch.size());
                }
            }
        }
        MeanMetric.Result accuracy = hits.reduce(hvd);
        double loss = losses.reduce(hvd).mean();
        FiniteLoss.require(loss, "the test loss");
        return new Evaluation(loss, accuracy.mean(), accuracy.samples());
    }

    private int finish(int epochs, Evaluation end) {
        WeightCheck weights = WeightCheck.of(hvd, model);
        say("%s", weights);
        spread.memory(optimizerBytes()).forEach(line -> say("%s", line));
        say("each rank has sent %.1f KiB of gradients per step", sentBytes / 1024.0 / Math.max(1, totals.steps()));
        say("%s", totals.dataWait());
        say(
                "mode %s over %d: %.2f s per epoch of training",
                options.mode().word(), hvd.size() * options.mode().devices(), totals.secondsPerEpoch());
        say(
                "test accuracy %.4f over %d sentences, each of which one rank has counted once: the same on all ranks",
                end.accuracy, end.samples);
        say(
                "%s",
                totals.result("textcnn", options.origin(), hvd.size(), epochs, end.loss, end.accuracy)
                        + String.format(
                                Locale.ROOT,
                                " mode=%s devices=%d epoch_seconds=%.3f",
                                options.mode().word(),
                                options.mode().devices(),
                                totals.secondsPerEpoch()));
        return weights.areEqual() ? 0 : WEIGHTS_DIFFER;
    }

    private long optimizerBytes() {
        long layers = SpreadModel.bytesOfParameters(model.layers());
        long embedding = SpreadModel.bytesOfParameters(model.embedding());
        return options.sparseRows() ? ADAM_MOMENTS * layers + embedding : ADAM_MOMENTS * (layers + embedding);
    }

    private void say(String format, Object... values) {
        if (hvd.rank() == 0) {
            System.out.printf(Locale.ROOT, format + "%n", values);
        }
    }

    @Override
    public void close() {
        spread.close();
    }
}
