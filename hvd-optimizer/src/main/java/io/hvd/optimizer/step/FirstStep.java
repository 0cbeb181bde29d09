package io.hvd.optimizer.step;

import io.hvd.ProcessSet;
import io.hvd.log.HvdLogger;
import io.hvd.optimizer.DistributedOptimizer;

/**
 * Warns in the first step where nothing says that the ranks start with the same parameters, and they have not compared them beside
 * their settings.
 *
 * @param together whether the ranks train one model
 */
record FirstStep(ProcessSet set, boolean together, Replicas replicas, StepProgress progress) implements StepStage {
    private static final HvdLogger LOG = HvdLogger.of(DistributedOptimizer.class);

    @Override
    public void run() {
        if (!progress.anyBegun() && together && !replicas.broadcast().isDone()) {
            warnIfNothingIsKnown();
        }
        progress.setAnyBegun();
    }

    private void warnIfNothingIsKnown() {
        boolean known =
                replicas.guard().comparesAtStart() || set.forOptimizers().parametersBroadcast();
        if (!known && set.rank() == 0) {
            LOG.warn("the first step comes without broadcastParameters(): if the ranks did not start with the same"
                    + " parameters, they will train different models");
        }
    }
}
