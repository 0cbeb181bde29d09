package io.hvd.optimizer.step;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.tensor.DType;
import io.hvd.tensor.HalfFloat;
import io.hvd.tensor.HostMemory;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.util.Arrays;
import java.util.List;

/** Floating-point tensors in the host's memory, seen as one row of numbers. */
public final class FlatTensors {
    private final List<Tensor> tensors;
    private final int[] ends;
    private final boolean wide;

    /** @throws HvdException if one lies on a GPU or has no floating-point type, or all together fit no array */
    public FlatTensors(String name, List<Tensor> tensors) {
        this.tensors = List.copyOf(tensors);
        this.ends = new int[tensors.size()];
        this.wide = tensors.stream().anyMatch(tensor -> tensor.dtype() == DType.FLOAT64);
        long end = 0;
        for (int i = 0; i < ends.length; i++) {
            Tensor tensor = tensors.get(i);
            if (!(tensor.memory() instanceof HostMemory) || !tensor.dtype().isFloating()) {
                throw new HvdException(
                        ErrorId.UNSUPPORTED,
                        "Adasum of \"" + name + "\": tensor " + i + " is " + tensor + " on " + tensor.device()
                                + ", expected a floating-point type in the host's memory");
            }
            end += tensor.elements();
            ends[i] = (int) Math.min(end, Integer.MAX_VALUE);
        }
        if (end > Integer.MAX_VALUE / 2) {
            throw new HvdException(
                    ErrorId.UNSUPPORTED,
                    "Adasum of \"" + name + "\": the tensors have " + end + " elements together, at most "
                            + Integer.MAX_VALUE / 2 + " are possible");
        }
    }

    public int elements() {
        return ends.length == 0 ? 0 : ends[ends.length - 1];
    }

    /** Where each tensor's elements end within a piece of the row. */
    public int[] endsWithin(long from, int piece) {
        int[] within = new int[ends.length];
        for (int i = 0; i < ends.length; i++) {
            within[i] = (int) Math.max(0, Math.min(piece, ends[i] - from));
        }
        return within;
    }

    /** All numbers, and zeros after them. */
    public double[] read(int length) {
        double[] row = new double[length];
        int at = 0;
        for (Tensor tensor : tensors) {
            double[] values = doubles(tensor);
            System.arraycopy(values, 0, row, at, values.length);
            at += values.length;
        }
        return row;
    }

    /** Overwrites the tensors. */
    public void write(Tensor row) {
        double[] values = doubles(row);
        int from = 0;
        for (Tensor tensor : tensors) {
            int count = (int) tensor.elements();
            tensor.copyFrom(tensorOf(Arrays.copyOfRange(values, from, from + count), tensor));
            from += count;
        }
    }

    /** Numbers as they travel: in double precision only if a tensor has it. */
    public Tensor travelling(double[] values) {
        DType type = wide ? DType.FLOAT64 : DType.FLOAT32;
        return Tensor.wrap(narrowed(values, type), type, Shape.of(values.length));
    }

    /** A tensor of another one's type and shape with these numbers. */
    static Tensor tensorOf(double[] values, Tensor like) {
        return Tensor.wrap(narrowed(values, like.dtype()), like.dtype(), like.shape());
    }

    public static double[] doubles(Tensor tensor) {
        if (tensor.dtype() == DType.FLOAT64) {
            return (double[]) tensor.toArray();
        }
        float[] floats = tensor.toFloatArray();
        double[] values = new double[floats.length];
        for (int i = 0; i < floats.length; i++) {
            values[i] = floats[i];
        }
        return values;
    }

    private static Object narrowed(double[] values, DType type) {
        if (type == DType.FLOAT64) {
            return values;
        }
        float[] floats = new float[type == DType.FLOAT32 ? values.length : 0];
        short[] halves = new short[type == DType.FLOAT32 ? 0 : values.length];
        for (int i = 0; i < values.length; i++) {
            switch (type) {
                case FLOAT32 -> floats[i] = (float) values[i];
                case FLOAT16 -> halves[i] = HalfFloat.toFloat16(values[i]);
                default -> halves[i] = HalfFloat.toBfloat16(values[i]);
            }
        }
        return type == DType.FLOAT32 ? floats : halves;
    }
}
