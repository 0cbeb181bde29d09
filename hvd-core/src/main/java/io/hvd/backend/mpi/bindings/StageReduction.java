package io.hvd.backend.mpi.bindings;

import io.hvd.spi.Reduction;
import io.hvd.tensor.Reducer;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import mpi.MPI;

/**
 * Reduces the data on the stage: with MPI where its operator gives the same bits as hvd's. Elsewhere it moves the
 * slices with MPI and adds them here, in rank order, 16-bit floats with a float32 accumulator.
 */
final class StageReduction {
    /**
     * The name of the time in which this rank adds what all ranks have sent it. Horovod leaves that to MPI and has no
     * name for it.
     */
    private static final String REDUCE = "REDUCE";

    private final Stage stage;
    private final Operators operators;
    private final Reducer reducer = new Reducer();

    StageReduction(Stage stage, Operators operators) {
        this.stage = stage;
        this.operators = operators;
    }

    /** Whether MPI reduces these elements in place. */
    boolean isNative(Reduction how) {
        return operators.take(how);
    }

    void allreduce(ByteBuffer buffer, int count, Reduction how) {
        if (stage.size == 1) {
            return;
        }
        if (isNative(how)) {
            stage.call(
                    "MPI_Allreduce",
                    () -> stage.comm.allReduce(
                            buffer,
                            count,
                            MpiOperator.datatype(how.wire()),
                            MpiOperator.op(how.op().arithmeticOn(how.wire()))));
        } else {
            allreduceSlices(buffer, count, how);
        }
    }

    /**
     * Each rank collects its slice from all ranks, reduces it, and sends it to all. A rank sends 2(n-1)/n of the data.
     */
    private void allreduceSlices(ByteBuffer buffer, int count, Reduction how) {
        int slice = (count + stage.size - 1) / stage.size;
        int bytes = slice * how.wire().bytes();
        stage.call("MPI_Alltoall", () -> stage.comm.allToAll(buffer, bytes, MPI.BYTE, stage.back, bytes, MPI.BYTE));
        reduceBack(slice, how, Stage.part(buffer, stage.rank * bytes, bytes));
        stage.call("MPI_Allgather", () -> stage.comm.allGather(buffer, bytes, MPI.BYTE));
    }

    /**
     * Reduces this rank's slice. The front holds a slice for every rank; afterwards its first slice is this rank's
     * reduced one.
     */
    void reduceOwnSlice(int slice, Reduction how) {
        int bytes = slice * how.wire().bytes();
        stage.call(
                "MPI_Alltoall", () -> stage.comm.allToAll(stage.front, bytes, MPI.BYTE, stage.back, bytes, MPI.BYTE));
        reduceBack(slice, how, Stage.part(stage.front, 0, bytes));
    }

    /** Reduces the front's first elements into the same place on the root. */
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

    /** Reduces the parts of the ranks, in rank order. */
    void reduce(List<ByteBuffer> parts, int count, Reduction how, ByteBuffer target) {
        long begun = stage.activities.begin();
        reducer.reduce(how.op(), how.wire(), parts, 0, count, target);
        stage.activities.end(REDUCE, begun);
    }
}
