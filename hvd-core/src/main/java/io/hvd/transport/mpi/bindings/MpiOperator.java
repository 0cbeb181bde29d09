package io.hvd.transport.mpi.bindings;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.tensor.DType;
import io.hvd.tensor.ReduceOp;
import io.hvd.transport.mpi.Operators;
import io.hvd.transport.mpi.Operators.Operator;
import java.nio.ByteBuffer;
import mpi.Datatype;
import mpi.Intracomm;
import mpi.MPI;
import mpi.MPIException;
import mpi.Op;

/** Calls MPI for the candidates of {@link Operators}. */
final class MpiOperator implements Operators.Local {
    static Datatype datatype(DType type) {
        return switch (type) {
            case FLOAT32 -> MPI.FLOAT;
            case FLOAT64 -> MPI.DOUBLE;
            case INT32 -> MPI.INT;
            case INT64 -> MPI.LONG;
            // MPI_UINT8_T.
            case BOOL -> MPI.BOOLEAN;
            case INT8, UINT8, INT16, UINT16, FLOAT16, BFLOAT16 ->
                throw new IllegalArgumentException("MPI is not asked to reduce " + type);
        };
    }

    static Op op(ReduceOp op) {
        return switch (op) {
            case SUM -> MPI.SUM;
            case MIN -> MPI.MIN;
            case MAX -> MPI.MAX;
            case PRODUCT -> MPI.PROD;
            case AVERAGE, ADASUM -> throw new IllegalArgumentException("MPI has no operation for " + op);
        };
    }

    @Override
    public void reduce(Operator operator, ByteBuffer operand, ByteBuffer result, int count) {
        try {
            Intracomm.reduceLocal(operand, result, count, datatype(operator.type()), op(operator.op()));
        } catch (MPIException e) {
            throw new HvdException(ErrorId.BACK_END, "MPI_Reduce_local failed: " + e.getMessage(), e);
        }
    }
}
