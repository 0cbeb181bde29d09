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

    /** The gradient; then what must be added to the errors to have those of before. */
    private final float[] own;

    private boolean finite;

    private ByteBlock(Tensor gradient, int from, int length, float[] errors) {
        this.gradient = gradient;
        this.from = from;
        this.length = length;
        this.errors = errors;
        this.own = new float[length];
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

    /** Adds to the gradient what was left out before, writes it, and keeps what this leaves out. */
    void encodeOwn(ByteBuffer to) {
        gradient.hostMemory().read(DType.FLOAT32, from, own, length);
        finite = FloatRows.isFinite(own, 0, length);
        int begin = to.position();
        if (!finite) {
            encode(own, to);
            return;
        }
        float[] whole = new float[length];
        for (int i = 0; i < length; i++) {
            whole[i] = own[i] + errors[from + i];
        }
        encode(whole, to);
        float[] sent = new float[length];
        addDecoded(to.duplicate().position(begin), sent);
        for (int i = 0; i < length; i++) {
            errors[from + i] = whole[i] - sent[i];
            own[i] = sent[i] - own[i];
        }
    }

    /** What was left out before is left out still. */
    void takeBack() {
        for (int i = 0; finite && i < length; i++) {
            errors[from + i] += own[i];
        }
        finite = false;
    }

    /** This rank has rounded the average of all ranks: what that leaves out it makes good itself. */
    void keepOfAverage(float leftOut, int element, int ranks) {
        if (finite) {
            errors[from + element] += leftOut * ranks;
            own[element] -= leftOut * ranks;
        }
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

    /** Adds the values that have been written, and moves on to what comes after them. */
    static void addDecoded(ByteBuffer from, float[] to) {
        float smallest = from.getFloat();
        float step = from.getFloat();
        for (int i = 0; i < to.length; i++) {
            to[i] += smallest + step * (from.get() & 0xff);
        }
    }

    /** Overwrites the gradient with averages. */
    void end(ByteBuffer encoded) {
        float[] values = new float[length];
        addDecoded(encoded, values);
        if (!FloatRows.isFinite(values, 0, length)) {
            takeBack();
        }
        gradient.hostMemory().write(DType.FLOAT32, from, values, length);
    }
}
