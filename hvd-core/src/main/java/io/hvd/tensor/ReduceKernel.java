package io.hvd.tensor;

import java.nio.ByteBuffer;

/**
 * Adds and multiplies where the elements lie, in direct buffers, as the JIT cannot: it uses the processor's vector units on
 * arrays only. Every result has the bits that
 * Java's own arithmetic gives, but for those of a NaN. By one thread at a time.
 */
public interface ReduceKernel {
    /** There is none. */
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

    boolean takes(DType type);

    /** Adds the first {@code count} elements of {@code operand} to those of {@code sum}. */
    void add(DType type, ByteBuffer operand, ByteBuffer sum, int count);

    /** Multiplies the first {@code count} elements, float32 by the float that is nearest to the factor. */
    void multiply(DType type, double factor, ByteBuffer product, int count);
}
