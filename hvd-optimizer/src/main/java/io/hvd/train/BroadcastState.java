package io.hvd.train;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.AmpOptimizer;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.optimizer.ModelShards;
import io.hvd.optimizer.Optimizer;

/**
 * Gives every rank the parameters and the optimizer state of one of them before the first batch: Horovod's
 * BroadcastGlobalVariablesCallback. hvd's optimizers have their state from the start, so it need not wait for a batch.
 */
public final class BroadcastState implements Callback {
    private final int root;

    /** @param root global rank of the one that has them */
    public BroadcastState(int root) {
        this.root = root;
    }

    @Override
    public Place place() {
        return Place.BROADCAST;
    }

    @Override
    public void trainingBegins(Training training) {
        Optimizer optimizer = training.optimizer();
        if (optimizer instanceof DistributedOptimizer distributed) {
            distributed.broadcastParameters(root);
            distributed.broadcastOptimizerState(root);
        } else if (optimizer instanceof AmpOptimizer amp) {
            amp.broadcastParameters(root);
            amp.broadcastOptimizerState(root);
        } else if (optimizer instanceof ModelShards) {
            throw new HvdException(
                    ErrorId.BAD_ARGUMENT,
                    "BroadcastState: the loop's optimizer is that of a FullyShard, expected a DistributedOptimizer or an"
                            + " AmpOptimizer. Leave BroadcastState out: all ranks of a FullyShard begin with the first"
                            + " rank's parameters");
        } else {
            throw new HvdException(
                    ErrorId.BAD_ARGUMENT,
                    "BroadcastState: the loop's optimizer is a "
                            + optimizer.getClass().getSimpleName()
                            + ", expected a DistributedOptimizer or an AmpOptimizer");
        }
    }
}
