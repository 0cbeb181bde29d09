package io.hvd.kernel;

import io.hvd.tensor.DType;
import java.nio.ByteBuffer;

/**
 * Adds and multiplies elements in direct buffers faster than the JIT, which uses the processor's vector units on arrays
 * only. Every result has the same bits as Java's own arithmetic, except those of a NaN. One thread at a time uses it, if {@link #use}
 * does not say otherwise.
 */
public interface ReduceKernel {
    /** The absence of a kernel. */
    ReduceKernel NONE = new ReduceKernel() {
        @Override
        public boolean takes(DType type) {
            return false;
        }

        @Override
        public void add(DType type, ByteBuffer operand, ByteBuffer sum, int count) {
            throw new UnsupportedOperationException("no kernel adds " + type);
        }

        @Override
        public void multiply(DType type, double factor, ByteBuffer product, int count) {
            throw new UnsupportedOperationException("no kernel multiplies " + type);
        }
    };

    /** The kernel that a library of this process has offered by {@link #use}, as soon as one has; before that none. */
    ReduceKernel OFFERED = new OfferedKernel();

    /**
     * From now on this process adds by such a kernel where its transport has none of its own.
     *
     * @param kernel several threads may use it at the same time
     */
    static void use(ReduceKernel kernel) {
        OfferedKernel.use(kernel);
    }

    /** Whether the kernel adds and multiplies elements of this type. */
    boolean takes(DType type);

    /** Adds the first {@code count} elements of {@code operand} to those of {@code sum}. */
    void add(DType type, ByteBuffer operand, ByteBuffer sum, int count);

    /** Multiplies the first {@code count} elements, float32 by the float that is nearest to the factor. */
    void multiply(DType type, double factor, ByteBuffer product, int count);
}
