package io.hvd.backend.mpi.bindings;

import io.hvd.spi.Reduction;
import io.hvd.tensor.DType;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Reducer;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import mpi.Datatype;
import mpi.MPI;
import mpi.Op;

/**
 * Reduces what lies on the stage: by MPI where it knows the type, else by moving the slices with MPI
 * and adding them up here, in rank order, 16-bit floats with a float32 accumulator.
 */
final class StageReduction {
    /** This rank adds up what all have sent it. Horovod leaves that to MPI and has no word for it. */
    private static final String REDUCE = "REDUCE";

    private final Stage stage;
    private final Reducer reducer = new Reducer();

    StageReduction(Stage stage) {
        this.stage = stage;
    }

    /**
     * MPI leaves open what a minimum does with NaN and has no 16-bit float, and its Java bindings have no
     * signed byte: its order would be that of 0 to 255.
     */
    static boolean isNative(Reduction how) {
        boolean ordered = how.op() == ReduceOp.MIN || how.op() == ReduceOp.MAX;
        return switch (how.wire()) {
            case FLOAT32, FLOAT64, INT8 -> !ordered;
            case INT16, UINT16, INT32, INT64, UINT8, BOOL -> true;
            case FLOAT16, BFLOAT16 -> false;
        };
    }

    void allreduce(ByteBuffer buffer, int count, Reduction how) {
        if (stage.size == 1) {
            return;
        }
        if (isNative(how)) {
            stage.call(
                    "MPI_Allreduce",
                    () -> stage.comm.allReduce(
                            buffer, count, datatype(how.wire()), op(how.op().arithmeticOn(how.wire()))));
        } else {
            allreduceSlices(buffer, count, how);
        }
    }

    /** Each rank collects its slice of all ranks, reduces it, and hands it to all. Sends 2(n-1)/n of the data. */
    private void allreduceSlices(ByteBuffer buffer, int count, Reduction how) {
        int slice = (count + stage.size - 1) / stage.size;
        int bytes = slice * how.wire().bytes();
        stage.call("MPI_Alltoall", () -> stage.comm.allToAll(buffer, bytes, MPI.BYTE, stage.back, bytes, MPI.BYTE));
        reduceBack(slice, how, Stage.part(buffer, stage.rank * bytes, bytes));
        stage.call("MPI_Allgather", () -> stage.comm.allGather(buffer, bytes, MPI.BYTE));
    }

    /** The front holds a slice for every rank; afterwards its first slice is the reduced one of this rank. */
    void reduceOwnSlice(int slice, Reduction how) {
        int bytes = slice * how.wire().bytes();
        stage.call(
                "MPI_Alltoall", () -> stage.comm.allToAll(stage.front, bytes, MPI.BYTE, stage.back, bytes, MPI.BYTE));
        reduceBack(slice, how, Stage.part(stage.front, 0, bytes));
    }

    /** The front's first elements are reduced into the same place on the root. */
    void reduceTo(int root, int count, Reduction how) {
        int bytes = count * how.wire().bytes();
        stage.call(
                "MPI_Gather", () -> stage.comm.gather(stage.front, bytes, MPI.BYTE, stage.back, bytes, MPI.BYTE, root));
        if (stage.rank == root) {
            reduceBack(count, how, Stage.part(stage.front, 0, bytes));
        }
    }

    private void reduceBack(int slice, Reduction how, ByteBuffer target) {
        int bytes = slice * how.wire().bytes();
        List<ByteBuffer> parts = new ArrayList<>(stage.size);
        for (int from = 0; from < stage.size; from++) {
            parts.add(Stage.part(stage.back, from * bytes, bytes));
        }
        reduce(parts, slice, how, target);
    }

    /** What the ranks have brought, in their order. */
    void reduce(List<ByteBuffer> parts, int count, Reduction how, ByteBuffer target) {
        long begun = stage.activities.begin();
        reducer.reduce(how.op(), how.wire(), parts, 0, count, target);
        stage.activities.end(REDUCE, begun);
    }

    private static Datatype datatype(DType type) {
        return switch (type) {
            case FLOAT32 -> MPI.FLOAT;
            case FLOAT64 -> MPI.DOUBLE;
            case INT32 -> MPI.INT;
            case INT64 -> MPI.LONG;
            // The bindings' BYTE and BOOLEAN are both MPI_UINT8_T, their CHAR is MPI_UINT16_T.
            case INT8 -> MPI.BYTE;
            case UINT8, BOOL -> MPI.BOOLEAN;
            case INT16 -> MPI.SHORT;
            case UINT16 -> MPI.CHAR;
            case FLOAT16, BFLOAT16 -> throw new IllegalArgumentException("MPI reduces no " + type);
        };
    }

    private static Op op(ReduceOp op) {
        return switch (op) {
            case SUM -> MPI.SUM;
            case MIN -> MPI.MIN;
            case MAX -> MPI.MAX;
            case PRODUCT -> MPI.PROD;
            case AVERAGE, ADASUM -> throw new IllegalArgumentException("MPI has no operation for " + op);
        };
    }
}
