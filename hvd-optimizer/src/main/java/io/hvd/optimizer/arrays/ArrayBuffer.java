package io.hvd.optimizer.arrays;

/** The numbers that an optimizer on plain arrays keeps for each element. The words stand in saved states, so they stay as they are. */
public enum ArrayBuffer {
    VELOCITY("velocity", false),
    NESTEROV_VELOCITY("Nesterov's velocity", false),
    MEANS("means", false),
    SQUARES("means of squares", true),
    SUMS_OF_SQUARES("sums of squares", true),
    SQUARED_STEPS("means of squared steps", true);

    private final String words;
    private final boolean neverNegative;

    ArrayBuffer(String words, boolean neverNegative) {
        this.words = words;
        this.neverNegative = neverNegative;
    }

    String words() {
        return words;
    }

    boolean isNeverNegative() {
        return neverNegative;
    }
}
