package io.hvd.examples.training;

import io.hvd.examples.ExampleFailure;

/** Ends a training whose loss is no longer a finite number. */
public final class FiniteLoss {
    private static final int EXIT_CODE = 3;

    private FiniteLoss() {}

    /**
     * Ends the example if the loss is infinite or not a number, because the weights then are so too, or soon will be.
     *
     * @param loss the loss; it must be the same on all ranks, so that all of them end at the same place
     * @param what words for the loss with which a sentence can begin, such as "the test loss after epoch 3"
     * @return the loss
     */
    public static double require(double loss, String what) throws ExampleFailure {
        if (!Double.isFinite(loss)) {
            throw new ExampleFailure(
                    what + " is " + loss
                            + " over all ranks, expected a finite number: the model has diverged, and is not"
                            + " saved any more. A smaller --lr may help",
                    EXIT_CODE);
        }
        return loss;
    }
}
