package io.hvd;

import io.hvd.buffer.BufferLedger;
import io.hvd.buffer.BufferLedger.Owner;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.spi.OpKind;
import io.hvd.tensor.Converter;
import io.hvd.tensor.DType;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Scale;
import io.hvd.tensor.Tensor;
import java.nio.ByteBuffer;
import java.util.List;

/** Builds allreduces of sparse rows: every rank gathers the indices and the rows of all, and nothing is added up. */
final class SparseCalls {
    private static final int PIECE = 1 << 12;

    private final MovementCalls movements;
    private final CallArguments arguments;
    private final int size;

    SparseCalls(MovementCalls movements, CallArguments arguments, int size) {
        this.movements = movements;
        this.arguments = arguments;
        this.size = size;
    }

    /** @return a handle for the indices and one for the rows */
    List<Handle> allreducing(String name, Tensor indices, Tensor values, ReduceOp op) {
        requireRows(name, indices, values, op);
        Tensor parts = op == ReduceOp.AVERAGE && size > 1 ? divided(name, values) : values;
        return movements.groupedAllgathering(name, List.of(indices, parts));
    }

    private void requireRows(String name, Tensor indices, Tensor values, ReduceOp op) {
        if (op != ReduceOp.SUM && op != ReduceOp.AVERAGE) {
            throw bad(name, "the operation is " + op + ", expected SUM or AVERAGE");
        }
        boolean areIndices = indices.dtype() == DType.INT64 || indices.dtype() == DType.INT32;
        if (!areIndices || indices.shape().rank() != 1) {
            throw bad(name, "the indices are " + indices + ", expected one row of int64 or int32");
        }
        if (values.shape().rank() == 0 || values.shape().dim(0) != indices.elements()) {
            throw bad(
                    name,
                    "the values are " + values + ", expected one row for each of " + indices.elements() + " indices");
        }
        if (op == ReduceOp.AVERAGE && !values.dtype().isFloating()) {
            throw bad(name, "the values are " + values + ", of which an average is no integer: expected SUM");
        }
        arguments.requireOneDevice(name, OpKind.ALLGATHER, List.of(indices, values));
    }

    private HvdException bad(String name, String why) {
        return arguments.bad(OpKind.ALLGATHER, name, "sparseAllreduce: " + why);
    }

    /** This rank's part of the average, in new memory. */
    private Tensor divided(String name, Tensor values) {
        if (!values.device().isCpu()) {
            throw new HvdException(
                    ErrorId.UNSUPPORTED,
                    "sparseAllreduce of \"" + name + "\": AVERAGE of " + values + " on " + values.device()
                            + ", where hvd gathers rows and divides none: expected SUM, of values divided by " + size);
        }
        Tensor parts = Tensor.zeros(values.dtype(), values.shape());
        DType wide = values.dtype() == DType.FLOAT64 ? DType.FLOAT64 : DType.FLOAT32;
        Converter converter = new Converter();
        ByteBuffer stage = BufferLedger.PROCESS.direct(Owner.CONVERSION, PIECE * Double.BYTES);
        for (long from = 0; from < values.elements(); from += PIECE) {
            int count = (int) Math.min(PIECE, values.elements() - from);
            converter.pack(values, from, count, stage, 0, wide, 1.0 / size);
            converter.unpack(stage, 0, wide, parts, from, count, Scale.ONE);
        }
        return parts;
    }
}
