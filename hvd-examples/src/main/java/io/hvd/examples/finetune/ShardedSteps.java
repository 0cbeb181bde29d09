package io.hvd.examples.finetune;

import io.hvd.AllreduceOptions;
import io.hvd.HvdContext;
import io.hvd.examples.training.RunTotals;
import io.hvd.optimizer.Optimizer;
import io.hvd.optimizer.StepStats;
import io.hvd.optimizer.torch.FullyShard;
import io.hvd.optimizer.torch.FullyShardOptions;
import io.hvd.tensor.ReduceOp;
import io.hvd.transformers.Transformer;
import java.util.SortedMap;
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
        totals.stepped(new StepStats(0, 0, 0, 0)); // its gradients travel in reducescatters, which nobody counts
    }

    @Override
    public boolean meetInForward() {
        return true;
    }

    /** The weights by name on the first rank. A collective. */
    SortedMap<String, io.hvd.tensor.Tensor> weights() {
        return shard.stateDict(0);
    }

    String memory() {
        return String.format(
                java.util.Locale.ROOT,
                "%s; at most %.1f MiB were gathered on rank 0",
                shard,
                shard.mostGatheredBytes() / (double) (1 << 20));
    }

    @Override
    public void close() {
        shard.close();
    }
}
