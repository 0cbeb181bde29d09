package io.hvd.examples.image;

import io.hvd.HvdContext;
import io.hvd.optimizer.AmpOptimizer;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.optimizer.DistributedOptimizerBuilder;
import io.hvd.optimizer.LocalReduction;
import io.hvd.optimizer.Optimizer;
import io.hvd.optimizer.ShardedOptimizer;
import io.hvd.optimizer.torch.TorchOptimizer;
import io.hvd.tensor.ReduceOp;
import java.util.Optional;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.Tensor;

/** The optimizer that the flags ask for: LibTorch's SGD, which averages over the ranks, and scales the loss if it has to. */
final class TrainingOptimizer {
    /** Empty if every rank keeps the whole state. */
    private final Optional<ShardedOptimizer> sharded;

    private final DistributedOptimizer distributed;
    /** Scales nothing in float32. */
    private final AmpOptimizer outermost;

    private final boolean weighted;
    private final boolean noSync;

    /** @param learningRate to begin with */
    TrainingOptimizer(
            HvdContext hvd,
            TrainingOptions options,
            HorovodMnistFlags horovods,
            ImageClassifier model,
            double learningRate) {
        SGDOptions sgd = new SGDOptions(learningRate);
        sgd.momentum().put(options.momentum());
        this.sharded = options.sharded()
                ? Optional.of(TorchOptimizer.sharded(hvd, model.named_parameters(), share -> new SGD(share, sgd)))
                : Optional.empty();
        Optimizer inner = sharded.isPresent()
                ? sharded.get()
                : options.precision().optimizer(model, stepped -> new SGD(stepped, sgd));
        this.weighted = options.series().folder().isPresent();
        this.noSync = options.noSync();
        this.distributed = distributed(inner, options, horovods);
        this.outermost = AmpOptimizer.wrap(distributed)
                .scaler(options.precision().scaler())
                .build();
    }

    private DistributedOptimizer distributed(Optimizer inner, TrainingOptions options, HorovodMnistFlags horovods) {
        DistributedOptimizerBuilder builder = DistributedOptimizer.wrap(inner)
                .op(options.adasum() ? ReduceOp.ADASUM : ReduceOp.AVERAGE)
                .compression(options.compression())
                .gradientPredivideFactor(horovods.predivideFactor())
                .backwardPassesPerStep(noSync ? 1 : options.passes())
                .localReduction(options.adasum() ? LocalReduction.SUM : LocalReduction.MEAN)
                .numGroups(options.groups());
        if (weighted) {
            builder.weightByBatchSize();
        }
        options.reducer().ifPresent(reducer -> builder.reducer(reducer.get()));
        return builder.build();
    }

    AmpOptimizer outermost() {
        return outermost;
    }

    /** Tells how many samples of the batch under way count, if the ranks are weighted by it. */
    void counted(int samples) {
        if (weighted) {
            distributed.batchSize(samples);
        }
    }

    /**
     * Computes gradients, and exchanges them unless more passes of the step follow.
     *
     * @param loss null on a rank without samples in this step
     */
    void backward(Tensor loss, boolean lastPass) {
        if (noSync && !lastPass) {
            try (var local = distributed.noSync()) {
                scaledBackward(loss);
            }
        } else {
            scaledBackward(loss);
        }
    }

    private void scaledBackward(Tensor loss) {
        outermost.backward(scale -> {
            if (loss != null) {
                TorchOptimizer.backward(loss, scale);
            }
        });
    }

    /** Brings a sharded state to rank 0, which writes the files. A collective. */
    void consolidate() {
        sharded.ifPresent(whole -> whole.consolidate(0));
    }

    /** The bytes of a sharded state on each rank; empty if every rank keeps the whole. A collective. */
    Optional<long[]> stateBytesOfRanks() {
        return sharded.map(ShardedOptimizer::stateBytesOfRanks);
    }
}
