package io.hvd.examples.gpu;

import io.hvd.HvdContext;
import io.hvd.tensor.DType;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import jcuda.Pointer;

/** The memory of the tensors of check G7, on this rank's GPU or on the host, as large as the largest of them. */
abstract sealed class SweepMemory implements AutoCloseable {
    private final ByteBuffer host;

    private SweepMemory(long bytes) {
        host = ByteBuffer.allocateDirect((int) bytes).order(ByteOrder.nativeOrder());
    }

    static SweepMemory of(HvdContext hvd, long bytes, boolean onHost) {
        return onHost ? new OnHost(bytes) : new OnGpu(hvd, bytes);
    }

    /** A tensor with a rank's values. It is the only one: the next takes its memory. */
    final Tensor filled(int rank, int elements) {
        ByteBuffer part = part(elements);
        for (int at = 0; at < elements; at++) {
            part.putFloat(at * Float.BYTES, SweepCollective.value(rank, at));
        }
        return tensor(part, Shape.of(elements));
    }

    /** The values of a result. */
    abstract FloatBuffer read(Tensor result);

    abstract Tensor tensor(ByteBuffer values, Shape shape);

    /** Releases the memory; does not throw. */
    @Override
    public abstract void close();

    final ByteBuffer part(int elements) {
        return host.slice(0, elements * Float.BYTES).order(ByteOrder.nativeOrder());
    }

    private static final class OnHost extends SweepMemory {
        OnHost(long bytes) {
            super(bytes);
        }

        @Override
        Tensor tensor(ByteBuffer values, Shape shape) {
            return Tensor.wrap(values, DType.FLOAT32, shape);
        }

        @Override
        FloatBuffer read(Tensor result) {
            return FloatBuffer.wrap(result.toFloatArray());
        }

        @Override
        public void close() {
            // The garbage collector frees the buffer.
        }
    }

    private static final class OnGpu extends SweepMemory {
        private final HvdContext hvd;
        private final DeviceArray gpu;

        OnGpu(HvdContext hvd, long bytes) {
            super(bytes);
            this.hvd = hvd;
            this.gpu = new DeviceArray(bytes);
        }

        @Override
        Tensor tensor(ByteBuffer values, Shape shape) {
            gpu.write(Pointer.to(values), values.capacity());
            return gpu.tensor(hvd.device(), DType.FLOAT32, 0, shape);
        }

        @Override
        FloatBuffer read(Tensor result) {
            ByteBuffer values = part((int) result.elements());
            DeviceArray.over(result).read(Pointer.to(values), values.capacity());
            return values.asFloatBuffer();
        }

        @Override
        public void close() {
            gpu.close();
        }
    }
}
