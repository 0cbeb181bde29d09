package io.hvd.optimizer.gradients;

import io.hvd.buffer.BufferLedger;
import io.hvd.buffer.BufferLedger.Owner;
import io.hvd.kernel.Converter;
import io.hvd.kernel.Scale;
import io.hvd.tensor.DType;
import io.hvd.tensor.Tensor;
import java.nio.ByteBuffer;

/** Multiplies gradients in the host's memory by powers of two and looks at what they become, piece by piece. Not thread-safe. */
public final class GradientScan {
    private static final int PIECE = 1 << 11;
    /** Half of the least float16 above zero, which is rounded to the even one of its neighbours, to zero. */
    private static final double VANISHES = 0x1p-25;

    private final Converter converter = new Converter();
    private final ByteBuffer stage = BufferLedger.PROCESS.direct(Owner.CHECKS, PIECE * Double.BYTES);
    private final float[] floats = new float[PIECE];
    private final double[] doubles = new double[PIECE];

    /** Whether elements of this type are wider than float16. */
    public static boolean takes(DType type) {
        return type == DType.FLOAT32 || type == DType.FLOAT64;
    }

    /**
     * @param finite whether all elements were finite before the multiplication
     * @param maximum the greatest finite magnitude before it
     * @param vanishing number of elements that are not zero and too small for float16 after it
     */
    public record Magnitudes(boolean finite, double maximum, long vanishing) {}

    /** Multiplies by 2^exponent, and says whether all products are finite. */
    public boolean multiply(Tensor gradient, int exponent) {
        boolean finite = true;
        for (long from = 0; from < gradient.elements(); from += PIECE) {
            int count = (int) Math.min(PIECE, gradient.elements() - from);
            load(gradient, from, count, exponent);
            finite &= isFinite(gradient, count);
            store(gradient, from, count, exponent);
        }
        return finite;
    }

    /** Multiplies by 2^exponent, and says whether all factors were finite, whatever the products are. */
    public boolean multiplyFinite(Tensor gradient, int exponent) {
        boolean finite = true;
        for (long from = 0; from < gradient.elements(); from += PIECE) {
            int count = (int) Math.min(PIECE, gradient.elements() - from);
            load(gradient, from, count, exponent);
            if (!isFinite(gradient, count)) {
                load(gradient, from, count, 0);
                finite &= isFinite(gradient, count);
                load(gradient, from, count, exponent);
            }
            store(gradient, from, count, exponent);
        }
        return finite;
    }

    /** Multiplies by 2^exponent. */
    public Magnitudes multiplyAndLook(Tensor gradient, int exponent) {
        boolean finite = true;
        double maximum = 0;
        long vanishing = 0;
        for (long from = 0; from < gradient.elements(); from += PIECE) {
            int count = (int) Math.min(PIECE, gradient.elements() - from);
            load(gradient, from, count, 0);
            finite &= isFinite(gradient, count);
            maximum = Math.max(maximum, greatest(gradient, count));
            load(gradient, from, count, exponent);
            vanishing += vanishing(gradient, count);
            store(gradient, from, count, exponent);
        }
        return new Magnitudes(finite, maximum, vanishing);
    }

    private double greatest(Tensor gradient, int count) {
        double maximum = 0;
        for (int i = 0; i < count; i++) {
            double magnitude = magnitude(gradient, i);
            if (magnitude > maximum && magnitude < Double.POSITIVE_INFINITY) {
                maximum = magnitude;
            }
        }
        return maximum;
    }

    private long vanishing(Tensor gradient, int count) {
        long vanishing = 0;
        for (int i = 0; i < count; i++) {
            double magnitude = magnitude(gradient, i);
            if (magnitude <= VANISHES && magnitude > 0) {
                vanishing++;
            }
        }
        return vanishing;
    }

    private double magnitude(Tensor gradient, int i) {
        return Math.abs(gradient.dtype() == DType.FLOAT64 ? doubles[i] : floats[i]);
    }

    /** A piece times 2^exponent, which then is in the stage and in the array of its type. */
    private void load(Tensor gradient, long from, int count, int exponent) {
        converter.pack(gradient, from, count, stage, 0, gradient.dtype(), Math.scalb(1.0, exponent));
        if (gradient.dtype() == DType.FLOAT64) {
            stage.asDoubleBuffer().get(doubles, 0, count);
        } else {
            stage.asFloatBuffer().get(floats, 0, count);
        }
    }

    private void store(Tensor gradient, long from, int count, int exponent) {
        if (exponent != 0) {
            converter.unpack(stage, 0, gradient.dtype(), gradient, from, count, Scale.ONE);
        }
    }

    private boolean isFinite(Tensor gradient, int count) {
        return gradient.dtype() == DType.FLOAT64 ? doublesAreFinite(count) : floatsAreFinite(count);
    }

    /** A sum of products with zero is zero, unless one of the numbers is not finite: a loop without a branch. */
    private boolean floatsAreFinite(int count) {
        float zero = 0;
        for (int i = 0; i < count; i++) {
            zero += floats[i] * 0;
        }
        return zero == 0;
    }

    private boolean doublesAreFinite(int count) {
        double zero = 0;
        for (int i = 0; i < count; i++) {
            zero += doubles[i] * 0;
        }
        return zero == 0;
    }
}
