package io.hvd.optimizer.arrays;

/** The numbers that an optimizer on plain arrays keeps for each element. The words stand in saved states, so they stay as they are. */
public enum ArrayBuffer {
    VELOCITY("velocity", "momentum_buffer", false),
    NESTEROV_VELOCITY("Nesterov's velocity", "momentum_buffer", false),
    MEANS("means", "exp_avg", false),
    SQUARES("means of squares", "square_avg", true),
    SQUARES_BESIDE_MEANS("means of squares", "exp_avg_sq", true),
    SUMS_OF_SQUARES("sums of squares", "sum", true),
    SQUARED_STEPS("means of squared steps", "acc_delta", true);

    private final String words;
    private final String torchName;
    private final boolean neverNegative;

    ArrayBuffer(String words, String torchName, boolean neverNegative) {
        this.words = words;
        this.torchName = torchName;
        this.neverNegative = neverNegative;
    }

    String words() {
        return words;
    }

    /** As torch's optimizers call it. */
    String torchName() {
        return torchName;
    }

    boolean isNeverNegative() {
        return neverNegative;
    }
}
