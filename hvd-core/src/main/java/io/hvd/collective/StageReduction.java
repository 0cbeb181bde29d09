package io.hvd.collective;

import io.hvd.kernel.Reducer;
import io.hvd.spi.ByteCollectives;
import io.hvd.spi.Reduction;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Reduces the data on the stage: by the transport where its operator gives the same bits as hvd's. Elsewhere it moves the
 * slices and adds them here, in rank order, 16-bit floats with a float32 accumulator.
 */
final class StageReduction {
    /**
     * The name of the time in which this rank adds what all ranks have sent it. Horovod leaves that to MPI, and so has no
     * name for it.
     */
    private static final String REDUCE = "REDUCE";

    private final ByteCollectives bytes;
    private final Stage stage;
    private final Reducer reducer = new Reducer();

    StageReduction(ByteCollectives bytes, Stage stage) {
        this.bytes = bytes;
        this.stage = stage;
    }

    /** Whether the transport reduces these elements in place. */
    boolean isNative(Reduction how) {
        return bytes.reduces(how.wire(), how.op().arithmeticOn(how.wire()));
    }

    void allreduce(ByteBuffer buffer, int count, Reduction how) {
        if (stage.size == 1) {
            return;
        }
        if (isNative(how)) {
            bytes.allreduce(buffer, count, how.wire(), how.op().arithmeticOn(how.wire()));
        } else {
            allreduceSlices(buffer, count, how);
        }
    }

    /**
     * Each rank collects its slice from all ranks, reduces it, and sends it to all. A rank sends 2(n-1)/n of the data.
     */
    private void allreduceSlices(ByteBuffer buffer, int count, Reduction how) {
        int slice = (count + stage.size - 1) / stage.size;
        int length = slice * how.wire().bytes();
        bytes.alltoall(buffer, stage.back(), length);
        reduceBack(slice, how, Stage.part(buffer, stage.rank * length, length));
        bytes.allgatherInPlace(buffer, length);
    }

    /**
     * Reduces this rank's slice. The front holds a slice for every rank; afterwards its first slice is this rank's
     * reduced one.
     */
    void reduceOwnSlice(int slice, Reduction how) {
        int length = slice * how.wire().bytes();
        bytes.alltoall(stage.front(), stage.back(), length);
        reduceBack(slice, how, Stage.part(stage.front(), 0, length));
    }

    /** Reduces the front's first elements into the same place on the root. */
    void reduceTo(int root, int count, Reduction how) {
        int length = count * how.wire().bytes();
        int[] lengths = new int[stage.size];
        Arrays.fill(lengths, length);
        bytes.gather(stage.front(), stage.back(), lengths, Stage.oneBehindTheOther(lengths), root);
        if (stage.rank == root) {
            reduceBack(count, how, Stage.part(stage.front(), 0, length));
        }
    }

    private void reduceBack(int slice, Reduction how, ByteBuffer target) {
        int length = slice * how.wire().bytes();
        List<ByteBuffer> parts = new ArrayList<>(stage.size);
        for (int from = 0; from < stage.size; from++) {
            parts.add(Stage.part(stage.back(), from * length, length));
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
