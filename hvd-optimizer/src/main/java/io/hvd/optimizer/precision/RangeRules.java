package io.hvd.optimizer.precision;

/**
 * Decides from the greatest magnitudes and from overflows by which power of two a gradient is multiplied before it travels as float16, and
 * whether it still does. All ranks decide by the same numbers.
 *
 * @param everySteps steps from one look at the magnitudes to the next
 * @param fallbackAfter overflows after which a gradient travels in its own type
 * @param prescale the factor by which the reduction multiplies gradients before it adds them up
 * @param ranks number of gradients that are added up
 */
record RangeRules(int everySteps, int fallbackAfter, double prescale, int ranks) {
    /** Below 2^15 the greatest sum leaves three bits to grow by before the next look. */
    private static final int EXPONENT_OF_SUMS = 12;
    /** How much smaller a gradient becomes after an overflow. */
    private static final int STEP_DOWN = 6;
    /** Powers of two beyond this would leave float32's own range. */
    private static final int MOST = 100;
    /** A gradient that has not overflown for so many steps has never overflown. */
    private static final int FORGOTTEN_AFTER = 1000;

    /** The power of two that brings the sum of the ranks' numbers, none beyond this magnitude, below 2^13. */
    int exponentFor(float magnitude) {
        int ofSum = Math.getExponent(prescale * magnitude) + Integer.SIZE - Integer.numberOfLeadingZeros(ranks - 1);
        return Math.max(-MOST, Math.min(MOST, EXPONENT_OF_SUMS - ofSum));
    }

    /** The power of two after an overflow with this one. */
    int exponentAfterOverflow(int exponent) {
        return Math.max(-MOST, exponent - STEP_DOWN);
    }

    /**
     * Counts an overflow.
     *
     * @param before the overflows that were counted before
     * @param steps number of steps since the last of them
     */
    int overflows(int before, long steps) {
        return steps > FORGOTTEN_AFTER ? 1 : before + 1;
    }

    boolean fallsBack(int overflows) {
        return overflows >= fallbackAfter;
    }

    /**
     * The next step in which the ranks look.
     *
     * @param finite whether all magnitudes of this one were; otherwise they say nothing about the other elements of those gradients
     */
    long nextLook(long step, boolean finite) {
        return finite ? step + everySteps : step + 1;
    }
}
