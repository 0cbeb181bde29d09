package io.hvd.examples.finetune;

import io.hvd.HvdContext;
import io.hvd.data.DataLoader;
import io.hvd.data.Dataset;
import io.hvd.data.EvalSampler;
import io.hvd.data.LoadBalancingDistributedSampler;
import io.hvd.data.Sampler;
import io.hvd.examples.training.RunTotals;
import io.hvd.examples.training.TorchDevice;
import io.hvd.examples.training.WeightCheck;
import io.hvd.optimizer.torch.Autocast;
import io.hvd.train.BroadcastState;
import io.hvd.train.EpochMetrics;
import io.hvd.train.LearningRate;
import io.hvd.train.Logging;
import io.hvd.train.MeanMetric;
import io.hvd.train.TerminateOnNaN;
import io.hvd.train.Training;
import io.hvd.train.TrainingLoop;
import io.hvd.train.checkpoint.AutoResume;
import io.hvd.train.checkpoint.Checkpoints;
import java.io.IOException;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.SortedMap;
import java.util.function.Supplier;
import org.apache.commons.cli.ParseException;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch.ScalarType;

/** Trains on every rank's share of each batch, and evaluates every text of the test once. */
final class FinetuneTraining {
    private static final int TEST_BATCH = 64;
    private static final int STEPS_BETWEEN_CHECKS = 50;
    private static final int WEIGHTS_DIFFER = 1;
    private static final String TEST_LOSS = "test loss";
    private static final String TEST_ACCURACY = "test accuracy";

    private final HvdContext hvd;
    private final FinetuneOptions options;
    private final TokenTexts texts;
    private final TorchDevice device;
    private final FinetuneModel model;
    private final FinetuneSteps steps;
    private final int batchPerRank;
    private final RunTotals totals = new RunTotals();

    FinetuneTraining(HvdContext hvd, FinetuneOptions options, TokenTexts texts, FinetuneModel model, TorchDevice device)
            throws ParseException {
        this.hvd = hvd;
        this.options = options;
        this.texts = texts;
        this.model = model;
        this.device = device;
        this.batchPerRank = options.batchPerRank(hvd.size());
        this.steps = options.fullyShard()
                ? new ShardedSteps(hvd, options, model.transformer(), model.module())
                : new WholeSteps(hvd, options, model.module());
    }

    /** Trains all epochs; rank 0 prints. @return the exit code */
    int run() throws IOException {
        say(
                "%d texts to train on and %d for the test, %d categories; %s; batches of %d on each of %d rank(s)",
                texts.train().size(),
                texts.test().size(),
                texts.labels().size(),
                model.inWords(),
                batchPerRank,
                hvd.size());
        var sampler = LoadBalancingDistributedSampler.builder(texts.lengths(), hvd.size(), hvd.rank())
                .batchesOf(batchPerRank)
                .seed(options.seed())
                .build();
        Training end;
        long begun = System.nanoTime();
        try (var loader = loader(sampler);
                var checkpoints = checkpoints(sampler)) {
            TrainingLoop loop = TrainingLoop.of(hvd, steps.optimizer())
                    .with(new LearningRate(epoch -> options.rate(epoch / options.epochs())))
                    .with(new TerminateOnNaN(STEPS_BETWEEN_CHECKS))
                    .with(Logging.to(line -> say("%s", line)))
                    .maxSteps(options.maxSteps())
                    .evaluation(training -> evaluate(training.metrics()));
            if (!options.fullyShard()) { // which has sent the first rank's
                loop.with(new BroadcastState(0));
            }
            if (checkpoints.isPresent()) {
                loop.with(AutoResume.everySteps(loader.batches(), checkpoints.get(), sampler));
            }
            end = loop.run(options.epochs(), loader, this::step);
            totals.trained((System.nanoTime() - begun) / 1e9);
            totals.waited(loader.waitNanos());
        }
        return finish(end);
    }

    private DataLoader<TokenTexts.Sample, TokenTexts.Batch> loader(Sampler sampler) {
        return DataLoader.builder(Dataset.of(texts.train()), sampler, TokenTexts.Batch::of)
                .batchSize(batchPerRank)
                .workers(options.workers())
                .build();
    }

    /** A folder of checkpoints that is closed with the loop, or none. */
    private Closing checkpoints(LoadBalancingDistributedSampler sampler) throws IOException {
        if (options.checkpoints().isEmpty()) {
            return new Closing(Optional.empty());
        }
        return new Closing(
                Optional.of(steps.saved(Checkpoints.in(options.checkpoints().get(), hvd, steps.optimizer()))
                        .with("sampler", sampler)
                        .config("task", options.task().word())
                        .build()));
    }

    private record Closing(Optional<Checkpoints> inner) implements AutoCloseable {
        boolean isPresent() {
            return inner.isPresent();
        }

        Checkpoints get() {
            return inner.orElseThrow();
        }

        @Override
        public void close() throws IOException {
            if (inner.isPresent()) {
                inner.get().close();
            }
        }
    }

    private void step(TokenTexts.Batch batch, Training training) {
        try (PointerScope scope = new PointerScope()) {
            model.module().train(true);
            if (training.batch() % options.passes() == 0) {
                steps.optimizer().zeroGradients();
            }
            Tensor loss = steps.forward(() -> narrow(() -> model.objective().loss(batch)));
            long parts = model.objective().parts(batch);
            steps.backward(loss, parts);
            if ((training.batch() + 1) % options.passes() == 0 || training.batch() + 1 == training.batches()) {
                steps.step(totals);
            }
            training.metrics().add("loss", loss.item_double() * parts, parts);
            totals.saw(batch.size());
        }
    }

    private <T> T narrow(Supplier<T> forward) {
        if (!options.bf16()) {
            return forward.get();
        }
        try (Autocast half = Autocast.to(ScalarType.BFloat16, device.device().type())) {
            return forward.get();
        }
    }

    private void evaluate(EpochMetrics metrics) {
        model.module().train(false);
        metrics.add(TEST_LOSS, 0, 0); // a rank may have no block
        metrics.add(TEST_ACCURACY, 0, 0);
        List<List<TokenTexts.Sample>> blocks = texts.testBlocks(TEST_BATCH);
        int[] mine = new EvalSampler(blocks.size(), hvd.size(), hvd.rank()).indices();
        int most = (blocks.size() + hvd.size() - 1) / hvd.size();
        for (int i = 0; i < (steps.meetInForward() ? most : mine.length); i++) {
            boolean counts = i < mine.length;
            TokenTexts.Batch batch = TokenTexts.Batch.of(blocks.get(counts ? mine[i] : 0));
            Objective.Score score = score(batch);
            if (counts) {
                metrics.add(TEST_LOSS, score.lossSum(), score.parts());
                metrics.add(TEST_ACCURACY, score.right(), score.parts());
            }
        }
    }

    private Objective.Score score(TokenTexts.Batch batch) {
        Objective.Score[] found = new Objective.Score[1];
        try (PointerScope scope = new PointerScope();
                NoGradGuard guard = new NoGradGuard()) {
            steps.forward(() -> {
                found[0] = narrow(() -> model.objective().score(batch));
                return Tensor.create(0f);
            });
            return found[0];
        }
    }

    /** Of the last epoch, or now, if --max-steps has left it or an earlier run has made it. */
    private SortedMap<String, MeanMetric.Result> tested(Training end) {
        if (end.results().containsKey(TEST_LOSS)) {
            return end.results();
        }
        EpochMetrics metrics = new EpochMetrics();
        evaluate(metrics);
        return metrics.reduce(hvd);
    }

    private int finish(Training end) throws IOException {
        if (end.outcome().kind() == Training.Outcome.Kind.SIGTERM) {
            say("%s", end.outcome()); // a later run goes on from the checkpoint
            return 0;
        }
        var tested = tested(end);
        Optional<WeightCheck> weights = steps.compare();
        weights.ifPresent(check -> say("%s", check));
        say("%s", steps.cost(totals));
        if (options.save().isPresent()) {
            steps.save(model, options.save().get());
            say("saved in %s", options.save().get());
        }
        say(
                "%s task=%s",
                totals.result(
                        "finetune",
                        options.origin(),
                        hvd.size(),
                        end.epoch(),
                        tested.get(TEST_LOSS).mean(),
                        tested.get(TEST_ACCURACY).mean()),
                options.task().word());
        steps.close();
        return weights.isEmpty() || weights.get().areEqual() ? 0 : WEIGHTS_DIFFER;
    }

    private void say(String format, Object... values) {
        if (hvd.rank() == 0) {
            System.out.printf(Locale.ROOT, format + "%n", values);
        }
    }
}
