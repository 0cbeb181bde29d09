package io.hvd.kernel;

/**
 * The scaling of every element of a reduction's result: it is multiplied by a factor, and divided by a number of ranks
 * where an average is asked for.
 *
 * <p>Floats are multiplied by {@code factor / divisor}, in their own type. An integer is multiplied in float64 and
 * rounded towards zero, which a factor of 1 skips. In both cases the integer is then divided by the divisor, and the exact
 * quotient is rounded towards zero; only a product that does not fit 64 bits is divided in float64. (A product with 1/49
 * would make 0 of 49.)
 *
 * @param divisor 1 or more
 */
public record Scale(double factor, int divisor) {
    /** Leaves the elements as they are. */
    public static final Scale ONE = new Scale(1, 1);

    /** A multiplication without a division. */
    public static Scale by(double factor) {
        return new Scale(factor, 1);
    }

    /** Whether elements stay as they are. */
    public boolean isOne() {
        return factor == divisor;
    }

    /** The factor by which floats are multiplied. */
    public double asFactor() {
        return factor / divisor;
    }

    /**
     * Scales an integer of up to 32 bits, which a double holds exactly: a quotient is never rounded up to the next
     * integer.
     */
    double scaled(int value) {
        double product = value * factor;
        return divisor == 1 ? product : (double) (long) product / divisor;
    }

    long scaled(long value) {
        if (factor == 1) {
            return value / divisor;
        }
        double product = value * factor;
        boolean fits = Math.abs(product) < 0x1p63;
        return fits ? (long) product / divisor : (long) (product / divisor);
    }
}
