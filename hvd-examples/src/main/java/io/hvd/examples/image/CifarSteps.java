package io.hvd.examples.image;

import static org.bytedeco.pytorch.global.torch.nll_loss;

import io.hvd.HvdContext;
import io.hvd.examples.training.RunTotals;
import io.hvd.examples.training.SpreadModel;
import io.hvd.examples.training.TorchDevice;
import io.hvd.optimizer.AmpOptimizer;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.optimizer.LocalReduction;
import io.hvd.optimizer.torch.SyncBatchNorm;
import io.hvd.optimizer.torch.TorchBatch;
import io.hvd.optimizer.torch.TorchOptimizer;
import io.hvd.optimizer.torch.TorchTensors;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.commons.cli.ParseException;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch.ScalarType;

/** The net of a {@link CifarTraining} with its optimizer, and the steps that they make. */
final class CifarSteps implements AutoCloseable {
    private final CifarOptions options;
    private final RunTotals totals;
    private final TorchDevice device;
    private final SpreadModel<ImageClassifier> spread;
    private final ImageClassifier model;
    private final DistributedOptimizer distributed;
    /** Scales nothing in float32. */
    private final AmpOptimizer optimizer;

    CifarSteps(HvdContext hvd, CifarOptions options, RunTotals totals) throws ParseException {
        this.options = options;
        this.totals = totals;
        this.device = TorchDevice.of(hvd, options.cuda());
        this.spread = SpreadModel.of(hvd, options.mode(), device, options.seed(), options.net()::build);
        this.model = spread.module();
        if (options.net().syncBatchNorm()) {
            SyncBatchNorm.convert(model, hvd);
        }
        this.distributed = optimizer(hvd, options, model);
        this.optimizer = AmpOptimizer.wrap(distributed)
                .scaler(options.precision().scaler())
                .build();
    }

    private static DistributedOptimizer optimizer(HvdContext hvd, CifarOptions options, ImageClassifier model) {
        SGDOptions sgd = new SGDOptions(options.schedule().learningRate(0));
        sgd.momentum().put(options.schedule().momentum());
        sgd.weight_decay().put(options.schedule().weightDecay());
        return DistributedOptimizer.wrap(options.precision().optimizer(model, stepped -> new SGD(stepped, sgd)))
                .context(hvd)
                .compression(options.compression())
                .localReduction(LocalReduction.SUM)
                .buffers(options.net().syncBatchNorm() ? TorchTensors.buffers(model) : Map.of())
                .build();
    }

    TorchDevice device() {
        return device;
    }

    ImageClassifier model() {
        return model;
    }

    AmpOptimizer optimizer() {
        return optimizer;
    }

    /** The memory of each device, in lines. */
    List<String> memory() {
        return spread.memory(SpreadModel.bytesOfParameters(model));
    }

    /** Makes one step of the optimizer, after one or several passes whose gradients add up to those of the batch. */
    List<BatchResult> run(TorchBatch batch) {
        List<BatchPart> parts = BatchPart.of(
                batch.size(), options.imagesPerPass() * options.mode().devices());
        List<BatchResult> results = new ArrayList<>();
        optimizer.zeroGradients();
        distributed.backwardPassesPerStep(parts.size());
        for (BatchPart part : parts) {
            results.add(pass(batch, part));
        }
        optimizer.step();
        totals.stepped(optimizer.lastStep());
        totals.saw(batch.size());
        return results;
    }

    private BatchResult pass(TorchBatch batch, BatchPart part) {
        double weight = (double) part.size() / batch.size();
        try (PointerScope scope = new PointerScope()) {
            Tensor[] output = new Tensor[1];
            Tensor targets = part.of(batch.fields().get(ImageTensors.LABELS));
            Tensor loss = options.precision().compute(device.device().type(), () -> {
                output[0] = spread.forward(
                        ImageClassifier::classify, part.of(batch.fields().get(ImageTensors.IMAGES)));
                return nll_loss(output[0], targets);
            });
            Tensor weighted = weight == 1 ? loss : loss.mul(new Scalar(weight));
            optimizer.backward(scale -> TorchOptimizer.backward(weighted, scale));
            return BatchResult.of(output[0].detach().to(ScalarType.Float), targets, loss);
        }
    }

    @Override
    public void close() {
        spread.close();
    }
}
