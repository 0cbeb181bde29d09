package io.hvd.optimizer.gradients;

import io.hvd.buffer.BufferLedger;
import io.hvd.buffer.BufferLedger.Owner;
import io.hvd.kernel.Converter;
import io.hvd.tensor.DType;
import io.hvd.tensor.Tensor;
import java.nio.ByteBuffer;

/** Looks for an infinity or a NaN in tensors in the host's memory, and writes nothing. Not thread-safe. */
public final class FiniteScan {
    private static final int PIECE = 1 << 12;
    /** Independent sums, since each addition waits for the one before it in the same sum. */
    private static final int LANES = 8;

    private final Converter converter = new Converter();
    private final ByteBuffer stage = BufferLedger.PROCESS.direct(Owner.CHECKS, PIECE * Double.BYTES);
    private final float[] floats = new float[PIECE];
    private final double[] doubles = new double[PIECE];

    /** Index of the first element that is not finite, or -1; integers are finite. */
    public long first(Tensor tensor) {
        if (!tensor.dtype().isFloating()) {
            return -1;
        }
        for (long from = 0; from < tensor.elements(); from += PIECE) {
            int count = (int) Math.min(PIECE, tensor.elements() - from);
            load(tensor, from, count);
            if (!isFinite(tensor, count)) {
                return from + firstOfPiece(tensor);
            }
        }
        return -1;
    }

    /** Whether all elements are zero. */
    public boolean isZero(Tensor tensor) {
        for (long from = 0; from < tensor.elements(); from += PIECE) {
            int count = (int) Math.min(PIECE, tensor.elements() - from);
            load(tensor, from, count);
            for (int i = 0; i < count; i++) {
                if (at(tensor, i) != 0) {
                    return false;
                }
            }
        }
        return true;
    }

    /** An element as it stands in the tensor. */
    public double element(Tensor tensor, long index) {
        load(tensor, index, 1);
        return at(tensor, 0);
    }

    private void load(Tensor tensor, long from, int count) {
        DType type = isDouble(tensor) ? DType.FLOAT64 : DType.FLOAT32;
        converter.pack(tensor, from, count, stage, 0, type, 1);
        if (type == DType.FLOAT64) {
            stage.asDoubleBuffer().get(doubles, 0, count);
        } else {
            stage.asFloatBuffer().get(floats, 0, count);
        }
    }

    private static boolean isDouble(Tensor tensor) {
        return tensor.dtype() == DType.FLOAT64;
    }

    private double at(Tensor tensor, int place) {
        return isDouble(tensor) ? doubles[place] : floats[place];
    }

    private int firstOfPiece(Tensor tensor) {
        int place = 0;
        while (Double.isFinite(at(tensor, place))) {
            place++;
        }
        return place;
    }

    private boolean isFinite(Tensor tensor, int count) {
        return isDouble(tensor) ? doublesAreFinite(count) : floatsAreFinite(count);
    }

    /** A sum of products with zero is zero, unless one of the numbers is not finite: a loop without a branch. */
    private boolean floatsAreFinite(int count) {
        float a = 0;
        float b = 0;
        float c = 0;
        float d = 0;
        float e = 0;
        float f = 0;
        float g = 0;
        float h = 0;
        int i = 0;
        for (; i <= count - LANES; i += LANES) {
            a += floats[i] * 0;
            b += floats[i + 1] * 0;
            c += floats[i + 2] * 0;
            d += floats[i + 3] * 0;
            e += floats[i + 4] * 0;
            f += floats[i + 5] * 0;
            g += floats[i + 6] * 0;
            h += floats[i + 7] * 0;
        }
        for (; i < count; i++) {
            a += floats[i] * 0;
        }
        return a + b + c + d + e + f + g + h == 0;
    }

    private boolean doublesAreFinite(int count) {
        double zero = 0;
        for (int i = 0; i < count; i++) {
            zero += doubles[i] * 0;
        }
        return zero == 0;
    }
}
