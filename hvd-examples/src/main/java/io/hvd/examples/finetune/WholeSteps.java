package io.hvd.examples.finetune;

import io.hvd.HvdContext;
import io.hvd.examples.training.RunTotals;
import io.hvd.examples.training.WeightCheck;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.optimizer.DistributedOptimizerBuilder;
import io.hvd.optimizer.LocalReduction;
import io.hvd.optimizer.Optimizer;
import io.hvd.optimizer.torch.StateDict;
import io.hvd.optimizer.torch.TorchOptimizer;
import io.hvd.train.checkpoint.CheckpointsBuilder;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Optional;
import java.util.function.Supplier;
import org.bytedeco.pytorch.AdamW;
import org.bytedeco.pytorch.AdamWOptions;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;

/** Every rank has the whole model, and the gradients of what is trained are averaged. */
final class WholeSteps implements FinetuneSteps {
    private final HvdContext hvd;
    private final Module model;
    private final DistributedOptimizer optimizer;

    WholeSteps(HvdContext hvd, FinetuneOptions options, Module model) {
        this.hvd = hvd;
        this.model = model;
        TensorVector trained = new TensorVector();
        TensorVector all = model.parameters();
        for (long i = 0; i < all.size(); i++) {
            if (all.get(i).requires_grad()) {
                trained.push_back(all.get(i));
            }
        }
        AdamW adam = new AdamW(trained, new AdamWOptions(options.learningRate()));
        DistributedOptimizerBuilder builder = DistributedOptimizer.wrap(
                        new TorchOptimizer(adam, model.named_parameters()))
                .context(hvd)
                .compression(options.compression())
                .backwardPassesPerStep(options.passes())
                .localReduction(LocalReduction.MEAN)
                .weightByBatchSize();
        if (options.clip() > 0) {
            builder.clipGradientNorm(options.clip());
        }
        this.optimizer = builder.build();
    }

    @Override
    public Optimizer optimizer() {
        return optimizer;
    }

    @Override
    public Tensor forward(Supplier<Tensor> body) {
        return body.get();
    }

    @Override
    public void backward(Tensor loss, long parts) {
        optimizer.batchSize(parts);
        TorchOptimizer.backward(loss);
    }

    @Override
    public void step(RunTotals totals) {
        optimizer.step();
        totals.stepped(optimizer.lastStep());
    }

    @Override
    public boolean meetInForward() {
        return false;
    }

    @Override
    public CheckpointsBuilder saved(CheckpointsBuilder checkpoints) {
        return checkpoints.model(() -> StateDict.of(model), saved -> StateDict.load(model, saved));
    }

    @Override
    public Optional<WeightCheck> compare() {
        return Optional.of(WeightCheck.of(hvd, model));
    }

    @Override
    public String cost(RunTotals totals) {
        return totals.sent();
    }

    @Override
    public void save(FinetuneModel whole, Path folder) throws IOException {
        if (hvd.rank() == 0) {
            whole.save(folder);
        }
    }

    @Override
    public void close() {
        optimizer.close();
    }
}
