package io.hvd.optimizer.step;

import io.hvd.error.HvdException;
import io.hvd.optimizer.guard.FiniteSteps;

/** Refuses the step on all ranks, if a gradient of any of them is not finite. */
record FiniteGradients(FiniteSteps finite, StepGradients gradients, StepProgress progress) implements StepStage {
    @Override
    public void run() {
        gradients.lookForStep();
        try {
            finite.require();
        } catch (HvdException e) {
            progress.setSynchronized(false);
            throw e;
        }
    }
}
