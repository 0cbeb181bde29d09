package io.hvd.examples.gpu;

import io.hvd.HvdContext;
import io.hvd.examples.gpu.CheckLine.Outcome;
import io.hvd.kernel.Converter;
import io.hvd.tensor.DType;
import io.hvd.tensor.HalfFloat;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;

/**
 * Collects the differences between GPU and host that one check has found. The check goes on after a difference, so that
 * all ranks make the same calls.
 */
final class HostComparison {
    private final HvdContext hvd;
    private final List<String> differences = new ArrayList<>();

    HostComparison(HvdContext hvd) {
        this.hvd = hvd;
    }

    void differs(String how) {
        differences.add(how);
    }

    /** The bytes of a tensor on the host. */
    static ByteBuffer bytes(Tensor onHost) {
        ByteBuffer bytes = ByteBuffer.allocateDirect((int) onHost.bytes()).order(ByteOrder.nativeOrder());
        new Converter().pack(onHost, 0, (int) onHost.elements(), bytes, 0, onHost.dtype(), 1);
        return bytes;
    }

    /**
     * Compares a result on the GPU with that of the same call on the host.
     *
     * @param tolerance the largest difference; 0 if the bits must be equal
     */
    void note(String name, DType type, ByteBuffer found, ByteBuffer expected, double tolerance) {
        if (found.mismatch(expected) < 0) {
            return;
        }
        Shape shape = Shape.of(found.capacity() / type.bytes());
        float[] a = Tensor.wrap(found, type, shape).toFloatArray();
        float[] b = Tensor.wrap(expected, type, shape).toFloatArray();
        for (int i = 0; i < a.length; i++) {
            if (!(Math.abs(a[i] - b[i]) <= tolerance)) {
                differences.add(name + ": element " + i + " is " + a[i] + ", on the host " + b[i]);
                return;
            }
        }
        if (tolerance == 0) {
            differences.add(name + ": the bits differ from the host's");
        }
    }

    CheckLine line(String name, String what) {
        if (differences.isEmpty()) {
            return new CheckLine(name, Outcome.PASS, what + "; " + hvd.backend());
        }
        return new CheckLine(
                name,
                Outcome.FAIL,
                differences.size() + " differences on rank " + hvd.rank() + ", the first: " + differences.get(0));
    }

    /** Whole numbers from 1 to {@code most} that depend on the rank and on the element. */
    ByteBuffer values(DType type, int elements, int most, int seed) {
        ByteBuffer buffer = ByteBuffer.allocateDirect(elements * type.bytes()).order(ByteOrder.nativeOrder());
        for (int i = 0; i < elements; i++) {
            int value = 1 + (i + hvd.rank() + seed) % most;
            switch (type) {
                case FLOAT32 -> buffer.putFloat(value);
                case FLOAT64 -> buffer.putDouble(value);
                case INT32 -> buffer.putInt(value);
                case INT64 -> buffer.putLong(value);
                case INT8, UINT8 -> buffer.put((byte) value);
                case FLOAT16 -> buffer.putShort(HalfFloat.toFloat16(value));
                case BFLOAT16 -> buffer.putShort(HalfFloat.toBfloat16(value));
                case BOOL -> buffer.put((byte) (value / 2 % 2));
                case INT16, UINT16 -> buffer.putShort((short) value);
            }
        }
        return buffer.flip();
    }
}
