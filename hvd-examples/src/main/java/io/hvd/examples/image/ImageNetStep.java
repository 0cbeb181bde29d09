package io.hvd.examples.image;

import static org.bytedeco.pytorch.global.torch.nll_loss;

import io.hvd.HvdContext;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.optimizer.LocalReduction;
import io.hvd.optimizer.torch.TorchBatch;
import io.hvd.optimizer.torch.TorchOptimizer;
import io.hvd.tensor.ReduceOp;
import java.util.ArrayList;
import java.util.List;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;

/** Makes a step on a batch, after one or several passes whose gradients add up to those of the batch. */
final class ImageNetStep {
    private final ImageNetOptions options;
    private final ImageClassifier model;
    private final DistributedOptimizer optimizer;

    /** @param learningRate to begin with */
    ImageNetStep(HvdContext hvd, ImageNetOptions options, ImageClassifier model, double learningRate) {
        this.options = options;
        this.model = model;
        SGDOptions sgd = new SGDOptions(learningRate);
        sgd.momentum().put(options.sgd().momentum());
        sgd.weight_decay().put(options.sgd().weightDecay());
        this.optimizer = DistributedOptimizer.wrap(
                        new TorchOptimizer(new SGD(model.parameters(), sgd), model.named_parameters()))
                .context(hvd)
                .op(options.adasum() ? ReduceOp.ADASUM : ReduceOp.AVERAGE)
                .compression(options.compression())
                .gradientPredivideFactor(options.predivideFactor())
                .localReduction(LocalReduction.SUM)
                .build();
    }

    DistributedOptimizer optimizer() {
        return optimizer;
    }

    /** @return the results of the passes */
    List<BatchResult> run(TorchBatch batch, double learningRate) {
        List<BatchPart> parts = BatchPart.of(batch.size(), options.batchSize());
        List<BatchResult> results = new ArrayList<>();
        optimizer.learningRate(learningRate);
        optimizer.zeroGradients();
        optimizer.backwardPassesPerStep(parts.size());
        for (BatchPart part : parts) {
            results.add(pass(batch, part));
        }
        optimizer.step();
        return results;
    }

    private BatchResult pass(TorchBatch batch, BatchPart part) {
        try (PointerScope scope = new PointerScope()) {
            Tensor output = model.forward(part.of(batch.fields().get(ImageTensors.IMAGES)));
            Tensor targets = part.of(batch.fields().get(ImageTensors.LABELS));
            Tensor loss = smoothLoss(output, targets, options.labelSmoothing());
            TorchOptimizer.backward(loss, part.size() / (double) batch.size());
            return BatchResult.of(output.detach(), targets, loss);
        }
    }

    /**
     * The cross-entropy with targets of which the right class has 1 - smoothing, and all classes together smoothing (C. Szegedy et
     * al., "Rethinking the Inception Architecture for Computer Vision", CVPR 2016).
     *
     * @param output log-probabilities (batch, classes)
     */
    static Tensor smoothLoss(Tensor output, Tensor targets, double smoothing) {
        Tensor loss = nll_loss(output, targets);
        return smoothing == 0
                ? loss
                : loss.mul(new Scalar(1 - smoothing)).sub(output.mean().mul(new Scalar(smoothing)));
    }
}
