package io.hvd.examples.image;

import static org.bytedeco.pytorch.global.torch.nll_loss;

import io.hvd.HvdContext;
import io.hvd.data.EvalSampler;
import io.hvd.examples.data.ImageSample;
import io.hvd.examples.data.ImageSets;
import io.hvd.examples.training.TorchDevice;
import io.hvd.optimizer.torch.TorchBatch;
import io.hvd.optimizer.torch.TorchLoader;
import io.hvd.train.DistinctSamples;
import io.hvd.train.MeanMetric;
import java.util.Arrays;
import java.util.function.Consumer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Tensor;

/**
 * Evaluates a model on all test images, each of which goes to one rank; the means are exact and the same on all ranks.
 */
final class Evaluator {
    private final HvdContext hvd;
    private final ImageSets images;
    private final TorchDevice device;
    private final ImageClassifier model;
    private final int batchSize;
    private final int workers;

    Evaluator(HvdContext hvd, ImageSets images, TorchDevice device, ImageClassifier model, int batchSize, int workers) {
        this.hvd = hvd;
        this.images = images;
        this.device = device;
        this.model = model;
        this.batchSize = batchSize;
        this.workers = workers;
    }

    /** The number of batches that this rank evaluates; another rank may have one less. */
    int batches() {
        return (sampler().length() + batchSize - 1) / batchSize;
    }

    /**
     * Evaluates the model; all ranks call it.
     *
     * @param listener receives every batch of this rank, in the sampler's order
     */
    Evaluation evaluate(Consumer<BatchResult> listener) {
        model.train(false);
        MeanMetric loss = new MeanMetric("loss");
        MeanMetric top1 = new MeanMetric("accuracy");
        MeanMetric top5 = new MeanMetric("top5");
        DistinctSamples seen = new DistinctSamples("distinct", images.test().size());
        int[] indices = sampler().indices();
        int place = 0;
        try (TorchLoader<ImageSample> loader = TorchLoader.builder(images.test(), sampler(), new ImageTensors(images))
                .batchSize(batchSize)
                .workers(workers)
                .on(device.of(hvd))
                .build()) {
            for (TorchBatch batch : loader) {
                BatchResult result = forward(batch);
                loss.add(result.lossSum(), result.samples());
                top1.add(result.top1(), result.samples());
                top5.add(result.top5(), result.samples());
                seen.add(Arrays.copyOfRange(indices, place, place + result.samples()));
                place += result.samples();
                listener.accept(result);
            }
        }
        MeanMetric.Result found = top1.reduce(hvd);
        return new Evaluation(
                loss.reduce(hvd).mean(),
                found.mean(),
                top5.reduce(hvd).mean(),
                found.samples(),
                seen.reduce(hvd).distinct());
    }

    EvalSampler sampler() {
        return new EvalSampler(images.test().size(), hvd.size(), hvd.rank());
    }

    private BatchResult forward(TorchBatch batch) {
        try (PointerScope scope = new PointerScope();
                NoGradGuard guard = new NoGradGuard()) {
            Tensor output = model.classify(batch.fields().get(ImageTensors.IMAGES));
            Tensor targets = batch.fields().get(ImageTensors.LABELS);
            return BatchResult.of(output, targets, nll_loss(output, targets));
        }
    }
}
