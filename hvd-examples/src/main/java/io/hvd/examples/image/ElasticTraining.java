package io.hvd.examples.image;

import static org.bytedeco.pytorch.global.torch.nll_loss;

import io.hvd.Elastic;
import io.hvd.Handle;
import io.hvd.HvdContext;
import io.hvd.data.ElasticSampler;
import io.hvd.examples.data.ImageSample;
import io.hvd.examples.data.ImageSets;
import io.hvd.examples.training.SeededModule;
import io.hvd.examples.training.TorchDevice;
import io.hvd.examples.training.WeightCheck;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.optimizer.Optimizer;
import io.hvd.optimizer.torch.StateDict;
import io.hvd.optimizer.torch.TorchBatch;
import io.hvd.optimizer.torch.TorchLoader;
import io.hvd.optimizer.torch.TorchOptimizer;
import io.hvd.optimizer.torch.TorchRuntime;
import io.hvd.tensor.Tensor;
import io.hvd.train.Logging;
import io.hvd.train.Training;
import io.hvd.train.TrainingLoop;
import io.hvd.train.checkpoint.CommitState;
import io.hvd.train.checkpoint.TrainingState;
import java.util.Arrays;
import java.util.Locale;
import java.util.function.Consumer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;

/** Trains in one generation after the other. What outlives a generation is a field here, and a part of the state. */
final class ElasticTraining {
    private static final double MOMENTUM = 0.9;

    private final ElasticOptions options;
    private final ImageSets images;
    private final Consumer<String> out;
    private final ImageClassifier model;
    private final ElasticSampler sampler;
    private final SampleCounts counts;
    private final TrainingState<DistributedOptimizer> state;

    /** @param out gets the lines of this rank */
    ElasticTraining(ElasticOptions options, ImageSets images, Consumer<String> out) {
        TorchRuntime.load();
        this.options = options;
        this.images = images;
        this.out = out;
        this.model = SeededModule.seeded(options.seed(), MnistNet::new);
        this.sampler = ElasticSampler.builder(images.train().size())
                .seed(options.seed())
                .build();
        this.counts = new SampleCounts(images.train().size());
        SGDOptions sgd = new SGDOptions(options.learningRate());
        sgd.momentum().put(MOMENTUM);
        this.state = TrainingState.of(
                        hvd -> DistributedOptimizer.wrap(options.sharded() ? sharded(hvd, sgd) : unsharded(sgd))
                                .build())
                .model(() -> StateDict.of(model), saved -> StateDict.load(model, saved))
                .with("sampler", sampler)
                .field("counts", counts::counts, counts::counts, SampleCounts.codec())
                .build();
    }

    private Optimizer unsharded(SGDOptions sgd) {
        return new TorchOptimizer(new SGD(model.parameters(), sgd), model.named_parameters());
    }

    private Optimizer sharded(HvdContext hvd, SGDOptions sgd) {
        return TorchOptimizer.sharded(hvd, model.named_parameters(), share -> new SGD(share, sgd));
    }

    /** Joins the job, and stays in it until it ends. */
    void run() throws Exception {
        Elastic.run(state, this::generation);
    }

    /** Trains in a context that is there. */
    void run(HvdContext hvd) throws Exception {
        Elastic.run(hvd, state, this::generation);
    }

    private void generation(Elastic elastic) {
        HvdContext hvd = elastic.context();
        model.seedDropout(options.seed() + 1 + elastic.step() * hvd.size() + hvd.rank());
        Evaluator evaluator = new Evaluator(hvd, images, TorchDevice.of(hvd, false), model, options.batchSize(), 0);
        try (TorchLoader<ImageSample> loader = TorchLoader.builder(images.train(), sampler, new ImageTensors(images))
                .batchSize(options.batchSize())
                .build()) {
            Indices indices = new Indices();
            Training end = TrainingLoop.of(hvd, state.optimizer())
                    .with(new CommitState(elastic, state))
                    .with(Logging.to(out))
                    .evaluation(training -> evaluator.evaluate(
                            batch -> training.metrics().add("test accuracy", batch.top1(), batch.samples())))
                    .run(options.epochs(), loader, (batch, training) -> step(elastic, batch, indices.of(training)));
            report(elastic, end);
        }
    }

    /** Which samples a batch of a pass has. */
    private final class Indices {
        private int[] ofPass = {};

        int[] of(Training training) {
            if (training.batch() == 0) {
                ofPass = sampler.indices();
            }
            int from = training.batch() * options.batchSize();
            return Arrays.copyOfRange(ofPass, from, Math.min(ofPass.length, from + options.batchSize()));
        }
    }

    private void step(Elastic elastic, TorchBatch batch, int[] indices) throws Exception {
        HvdContext hvd = elastic.context();
        try (PointerScope scope = new PointerScope()) {
            model.train(true);
            state.optimizer().zeroGradients();
            Handle all = hvd.allgatherAsync("elastic.indices", Tensor.of(indices));
            TorchOptimizer.backward(nll_loss(
                    model.forward(batch.fields().get(ImageTensors.IMAGES)),
                    batch.fields().get(ImageTensors.LABELS)));
            if (elastic.generation() == 0
                    && hvd.rank() == options.killRank()
                    && elastic.step() + 1 == options.killStep()) {
                killThisProcess();
            }
            int[] ofStep = (int[]) all.synchronize().toArray();
            state.optimizer().step();
            counts.add(ofStep);
        }
    }

    private static void killThisProcess() throws Exception {
        String pid = String.valueOf(ProcessHandle.current().pid());
        new ProcessBuilder("kill", "-9", pid).start().waitFor();
    }

    private void report(Elastic elastic, Training end) {
        HvdContext hvd = elastic.context();
        WeightCheck weights = WeightCheck.of(hvd, model);
        out.accept(String.format(
                Locale.ROOT,
                "rank %d of %d: weights crc32 %08x",
                hvd.rank(),
                hvd.size(),
                weights.checksums()[hvd.rank()]));
        if (hvd.rank() == 0) {
            out.accept(String.format(
                    Locale.ROOT,
                    "RESULT example=elastic-mnist ranks=%d epochs=%d steps=%d generations=%d accuracy=%.4f %s data=%s",
                    hvd.size(),
                    end.epoch(),
                    elastic.step(),
                    elastic.generation() + 1,
                    end.result("test accuracy").mean(),
                    counts,
                    images.origin()));
        }
    }
}
