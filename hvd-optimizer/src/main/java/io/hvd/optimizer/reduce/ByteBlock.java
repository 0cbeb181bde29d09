package io.hvd.optimizer.reduce;

import io.hvd.tensor.DType;
import io.hvd.tensor.Tensor;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/** Some consecutive elements of a gradient, which are rounded to 256 values between their smallest and their largest. */
final class ByteBlock {
    private static final int LONGEST = 1 << 10;
    private static final int STEPS = 255;
    private static final int HEADER = 2 * Float.BYTES;

    private final Tensor gradient;
    private final int from;
    private final int length;
    /** The whole gradient's. */
    private final float[] errors;

    /** The gradient and what was left out before; then what this step leaves out. */
    private final float[] leftOut;

    private boolean finite;

    private ByteBlock(Tensor gradient, int from, int length, float[] errors) {
        this.gradient = gradient;
        this.from = from;
        this.length = length;
        this.errors = errors;
        this.leftOut = new float[length];
    }

    static List<ByteBlock> of(Tensor gradient, float[] errors) {
        List<ByteBlock> blocks = new ArrayList<>();
        for (int from = 0; from < errors.length; from += LONGEST) {
            blocks.add(new ByteBlock(gradient, from, Math.min(LONGEST, errors.length - from), errors));
        }
        return blocks;
    }

    int length() {
        return length;
    }

    /** Bytes of the smallest value and the distance of two values as floats, and one for each element. */
    int encodedBytes() {
        return HEADER + length;
    }

    /** Adds to the gradient what was left out before, and writes it. */
    void encodeOwn(ByteBuffer to) {
        gradient.hostMemory().read(DType.FLOAT32, from, leftOut, length);
        for (int i = 0; i < length; i++) {
            leftOut[i] += errors[from + i];
        }
        finite = FloatRows.isFinite(leftOut, 0, length);
        int begin = to.position();
        encode(leftOut, to);
        ByteBuffer encoded = to.duplicate().position(begin);
        float smallest = encoded.getFloat();
        float step = encoded.getFloat();
        for (int i = 0; i < length; i++) {
            leftOut[i] -= decoded(smallest, step, encoded.get());
        }
    }

    /** This rank has rounded the average of all ranks: what that leaves out it makes good itself. */
    void keepOfAverage(double leftOutOfAverage, int element, int ranks) {
        leftOut[element] += (float) (leftOutOfAverage * ranks);
    }

    /** Writes values; NaN for the smallest if one of them is not finite. */
    static void encode(float[] values, ByteBuffer to) {
        float smallest = Float.POSITIVE_INFINITY;
        float largest = Float.NEGATIVE_INFINITY;
        for (float value : values) {
            smallest = Math.min(smallest, value);
            largest = Math.max(largest, value);
        }
        float step = (float) (((double) largest - smallest) / STEPS);
        boolean usable = step >= 0 && step < Float.POSITIVE_INFINITY;
        to.putFloat(usable ? smallest : Float.NaN).putFloat(step);
        for (float value : values) {
            double place = step > 0 ? ((double) value - smallest) / step : 0;
            to.put((byte) Math.max(0, Math.min(STEPS, Math.round(place))));
        }
    }

    /** A number between the smallest and the largest that were written, of which the sum could overflow in between. */
    private static float decoded(float smallest, float step, byte place) {
        double value = smallest + (double) step * (place & 0xff);
        return (float) Math.max(-Float.MAX_VALUE, Math.min(Float.MAX_VALUE, value));
    }

    /** Adds the values that have been written, and moves on to what comes after them. */
    static void addDecoded(ByteBuffer from, double[] to) {
        float smallest = from.getFloat();
        float step = from.getFloat();
        for (int i = 0; i < to.length; i++) {
            to[i] += decoded(smallest, step, from.get());
        }
    }

    /** Overwrites the gradient with averages, and keeps what this step leaves out. */
    void end(ByteBuffer encoded) {
        float[] values = new float[length];
        float smallest = encoded.getFloat();
        float step = encoded.getFloat();
        for (int i = 0; i < length; i++) {
            values[i] = decoded(smallest, step, encoded.get());
        }
        if (finite && FloatRows.isFinite(values, 0, length)) {
            ErrorMemory.keep(leftOut, errors, from);
        }
        gradient.hostMemory().write(DType.FLOAT32, from, values, length);
    }
}
