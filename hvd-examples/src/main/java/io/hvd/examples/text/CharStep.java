package io.hvd.examples.text;

import static org.bytedeco.pytorch.global.torch.nll_loss;

import io.hvd.HvdContext;
import io.hvd.examples.training.BatchPlace;
import io.hvd.examples.training.RunTotals;
import io.hvd.examples.training.TorchDevice;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.optimizer.DistributedOptimizerBuilder;
import io.hvd.optimizer.LocalReduction;
import io.hvd.optimizer.torch.Autocast;
import io.hvd.optimizer.torch.TorchBatch;
import io.hvd.optimizer.torch.TorchOptimizer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Adam;
import org.bytedeco.pytorch.AdamOptions;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch.ScalarType;

/** Trains on one batch: forward, backward, and after the last batch of a step the step of Adam. */
final class CharStep {
    private final CharOptions options;
    private final TorchDevice device;
    private final CharModel model;
    private final DistributedOptimizer optimizer;
    private final RunTotals totals;

    /** @param totals get the samples and the steps */
    CharStep(HvdContext hvd, CharOptions options, TorchDevice device, CharModel model, RunTotals totals) {
        this.options = options;
        this.device = device;
        this.model = model;
        this.optimizer = optimizer(hvd);
        this.totals = totals;
    }

    private DistributedOptimizer optimizer(HvdContext hvd) {
        DistributedOptimizerBuilder builder = DistributedOptimizer.wrap(new TorchOptimizer(
                        new Adam(model.parameters(), new AdamOptions(options.learningRate())),
                        model.named_parameters()))
                .context(hvd)
                .compression(options.compression())
                .backwardPassesPerStep(options.passes())
                .localReduction(LocalReduction.MEAN);
        if (options.clip() > 0) {
            builder.clipGradientNorm(options.clip());
        }
        return builder.build();
    }

    /** Every rank calls it. */
    void broadcast() {
        optimizer.broadcastParameters(0);
        optimizer.broadcastOptimizerState(0);
    }

    /** Returns the mean loss over the characters of the batch. */
    double run(TorchBatch batch, BatchPlace place) {
        try (PointerScope scope = new PointerScope()) {
            if (place.isFirstPass()) {
                optimizer.zeroGradients();
            }
            Tensor loss = loss(batch);
            TorchOptimizer.backward(loss);
            totals.saw(batch.size());
            if (place.isLastPass()) {
                optimizer.step();
                totals.stepped(optimizer.lastStep());
            }
            return loss.item_float();
        }
    }

    private Tensor loss(TorchBatch batch) {
        return nll_loss(scores(batch), next(batch));
    }

    /** Log-probabilities of what follows each character of a batch (batch * width, letters). */
    Tensor scores(TorchBatch batch) {
        Tensor characters = batch.fields().get(0);
        if (!options.bf16()) {
            return model.forward(characters);
        }
        try (Autocast narrow = Autocast.to(ScalarType.BFloat16, device.device().type())) {
            return model.forward(characters);
        }
    }

    /** The characters that follow them (batch * width). */
    static Tensor next(TorchBatch batch) {
        return batch.fields().get(1).reshape(-1);
    }
}
