package io.hvd.transport.mpi;

import io.hvd.buffer.BufferLedger;
import io.hvd.buffer.BufferLedger.Owner;
import io.hvd.collective.Stage;
import io.hvd.kernel.ReduceKernel;
import io.hvd.tensor.DType;
import io.hvd.tensor.ReduceOp;
import io.hvd.transport.mpi.Operators.Operator;
import io.hvd.transport.mpi.calls.Mpi;
import java.nio.ByteBuffer;

/**
 * Reduces with MPI_Reduce_local, for which Open MPI has loops for AVX2 and AVX-512. Any thread that carries out an
 * operation may call it, one at a time. Where MPI runs with MPI_THREAD_FUNNELED, the standard allows calls from one
 * thread only; in Open MPI 4.1 this call looks up a loop and runs it, and touches nothing that other calls use.
 */
final class MpiReduceKernel implements ReduceKernel {
    /** The number of factors that are kept ready. */
    private static final int RUN = 2048;

    private final Operators operators;
    private final Mpi mpi;
    private final ByteBuffer factors = BufferLedger.PROCESS.direct(Owner.MPI, RUN * Double.BYTES);
    private DType ofType;
    private double factor;

    MpiReduceKernel(Mpi mpi, Operators operators) {
        this.mpi = mpi;
        this.operators = operators;
    }

    @Override
    public boolean takes(DType type) {
        boolean known = type == DType.FLOAT32 || type == DType.FLOAT64;
        return known
                && operators.take(new Operator(type, ReduceOp.SUM))
                && operators.take(new Operator(type, ReduceOp.PRODUCT));
    }

    @Override
    public void add(DType type, ByteBuffer operand, ByteBuffer sum, int count) {
        mpi.reduceLocal(operand, sum, count, type, ReduceOp.SUM);
    }

    @Override
    public void multiply(DType type, double by, ByteBuffer product, int count) {
        prepare(type, by);
        int bytes = type.bytes();
        for (int done = 0; done < count; done += RUN) {
            int run = Math.min(RUN, count - done);
            ByteBuffer part = Stage.part(product, done * bytes, run * bytes);
            mpi.reduceLocal(factors, part, run, type, ReduceOp.PRODUCT);
        }
    }

    /** Prepares the factors, unless the last call had the same type and factor, as is usual from step to step. */
    private void prepare(DType type, double by) {
        if (type == ofType && by == factor) {
            return;
        }
        for (int i = 0; i < RUN; i++) {
            if (type == DType.FLOAT32) {
                factors.putFloat(i * Float.BYTES, (float) by);
            } else {
                factors.putDouble(i * Double.BYTES, by);
            }
        }
        ofType = type;
        factor = by;
    }
}
