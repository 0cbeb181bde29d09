package io.hvd.examples;

/** The end of a training that can come to nothing any more. */
public final class FiniteLoss {
    private static final int EXIT_CODE = 3;

    private FiniteLoss() {}

    /**
     * Ends the example if the loss is infinite or not a number: then the weights are, too, or soon will be.
     *
     * @param loss the same on all ranks, so that all of them end at the same place
     * @param what which loss it is, as a sentence begins: "the test loss after epoch 3"
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
