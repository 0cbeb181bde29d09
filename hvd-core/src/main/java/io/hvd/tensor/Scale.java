package io.hvd.tensor;

/**
 * What becomes of every element that comes out of a reduction: it is multiplied by a factor, and divided by a number of
 * ranks where an average is asked for.
 *
 * <p>Floats are multiplied by {@code factor / divisor}, in their own type. An integer is multiplied in float64 and cut
 * off, unless the factor is 1; then it is divided as an integer and the exact quotient cut off, as far as an integer
 * goes: a product with 1/49 would make 0 of 49.
 *
 * @param divisor 1 or more
 */
public record Scale(double factor, int divisor) {
    /** Elements stay as they are. */
    public static final Scale ONE = new Scale(1, 1);

    public static Scale by(double factor) {
        return new Scale(factor, 1);
    }

    public boolean isOne() {
        return factor == divisor;
    }

    /** What floats are multiplied by. */
    public double asFactor() {
        return factor / divisor;
    }

    /** For integers of up to 32 bits, which a double holds: their quotient is never rounded up to the next integer. */
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
