package io.hvd.examples.finetune;

import io.hvd.examples.training.RunTotals;
import io.hvd.optimizer.Optimizer;
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

    /** Frees what the model does not need. */
    @Override
    void close();
}
