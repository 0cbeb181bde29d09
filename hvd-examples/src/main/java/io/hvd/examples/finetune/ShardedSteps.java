package io.hvd.examples.finetune;

import io.hvd.AllreduceOptions;
import io.hvd.HvdContext;
import io.hvd.examples.training.RunTotals;
import io.hvd.examples.training.WeightCheck;
import io.hvd.optimizer.Optimizer;
import io.hvd.optimizer.torch.FullyShard;
import io.hvd.optimizer.torch.FullyShardOptions;
import io.hvd.tensor.ReduceOp;
import io.hvd.train.checkpoint.CheckpointsBuilder;
import io.hvd.transformers.Transformer;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Optional;
import java.util.function.Supplier;
import org.bytedeco.pytorch.AdamW;
import org.bytedeco.pytorch.AdamWOptions;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;

/** Each rank has a shard of every layer, which is whole on it for its forward and its backward only. */
final class ShardedSteps implements FinetuneSteps {
    private final HvdContext hvd;
    private final FinetuneOptions options;
    private final FullyShard shard;
    private final Optimizer optimizer;

    /** @param all the transformer as the module {@code model}, and what else there is */
    ShardedSteps(HvdContext hvd, FinetuneOptions options, Transformer transformer, Module all) {
        this.hvd = hvd;
        this.options = options;
        this.shard = FullyShard.over(hvd, FullyShardOptions.zero3());
        for (int layer = 0; layer < transformer.config().layers(); layer++) {
            String name = transformer.layerName(layer);
            shard.unit(FinetuneModel.TRANSFORMER + "." + name, transformer.module(name));
        }
        shard.root(all);
        transformer.layersRunBy((name, body) -> shard.forward(FinetuneModel.TRANSFORMER + "." + name, body));
        this.optimizer = shard.optimizer(shards -> new AdamW(shards, new AdamWOptions(options.learningRate())));
    }

    @Override
    public Optimizer optimizer() {
        return optimizer;
    }

    @Override
    public Tensor forward(Supplier<Tensor> body) {
        return shard.forward(body);
    }

    /** Averages over the parts of all ranks, and over the passes of a step. */
    @Override
    public void backward(Tensor loss, long parts) {
        double all = hvd.allreduce(
                        "finetune.parts", io.hvd.tensor.Tensor.of((double) parts), AllreduceOptions.of(ReduceOp.SUM))
                .item();
        shard.backward(loss.mul(new Scalar(parts * hvd.size() / all / options.passes())));
    }

    @Override
    public void step(RunTotals totals) {
        if (options.clip() > 0) {
            shard.clipGradNorm(options.clip());
        }
        optimizer.step();
        totals.stepped();
    }

    @Override
    public boolean meetInForward() {
        return true;
    }

    @Override
    public CheckpointsBuilder saved(CheckpointsBuilder checkpoints) {
        return checkpoints.everyRankWrites();
    }

    @Override
    public Optional<WeightCheck> compare() {
        return Optional.empty();
    }

    @Override
    public void save(FinetuneModel model, Path folder) throws IOException {
        var weights = shard.stateDict(0);
        if (hvd.rank() == 0) {
            model.save(weights, folder);
        }
    }

    @Override
    public String cost(RunTotals totals) {
        return String.format(
                Locale.ROOT,
                "%s; at most %.1f MiB were gathered on rank 0",
                shard,
                shard.mostGatheredBytes() / (double) (1 << 20));
    }

    @Override
    public void close() {
        shard.close();
    }
}
