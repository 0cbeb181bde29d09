package io.hvd.kernel;

import io.hvd.tensor.DType;
import java.nio.ByteBuffer;

/** Adds by what a library has offered to this process, which may happen at any time. */
final class OfferedKernel implements ReduceKernel {
    private static volatile ReduceKernel offered = NONE;

    static void use(ReduceKernel kernel) {
        offered = kernel;
    }

    @Override
    public boolean takes(DType type) {
        return offered.takes(type);
    }

    @Override
    public void add(DType type, ByteBuffer operand, ByteBuffer sum, int count) {
        offered.add(type, operand, sum, count);
    }

    @Override
    public void multiply(DType type, double factor, ByteBuffer product, int count) {
        offered.multiply(type, factor, product, count);
    }
}
