package io.hvd.examples.finetune;

import io.hvd.examples.training.RunTotals;
import io.hvd.examples.training.WeightCheck;
import io.hvd.optimizer.Optimizer;
import io.hvd.train.checkpoint.CheckpointsBuilder;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Optional;
import java.util.function.Supplier;
import org.bytedeco.pytorch.Tensor;

/** How ranks share a training: every rank has the whole model, or a shard of it. */
interface FinetuneSteps extends AutoCloseable {
    /** What a loop sets the rate of. */
    Optimizer optimizer();

    /** Runs a forward; what it returns depends on the model's parameters. */
    Tensor forward(Supplier<Tensor> body);

    /** @param parts how many equal parts the mean loss has on this rank */
    void backward(Tensor loss, long parts);

    /** Clips the gradients and steps. */
    void step(RunTotals totals);

    /** Whether all ranks must run as many forwards as the others. */
    boolean meetInForward();

    /** Says how the model and the optimizer are saved. */
    CheckpointsBuilder saved(CheckpointsBuilder checkpoints);

    /** Compares the weights of all ranks, of which each has the whole; empty if it has a shard. A collective. */
    Optional<WeightCheck> compare();

    /** What the training has taken, in words. */
    String cost(RunTotals totals);

    /** Has rank 0 write the model. A collective. */
    void save(FinetuneModel model, Path folder) throws IOException;

    /** Frees what the model does not need. */
    @Override
    void close();
}
