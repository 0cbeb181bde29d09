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

    /** The bytes of all ranks together up to which one step with all data is faster than two steps with slices. */
    private static final int WHOLE_BYTES = 16 << 10;

    private final ByteCollectives bytes;
    private final Stage stage;
    private final Reducer reducer;

    StageReduction(ByteCollectives bytes, Stage stage, Reducer reducer) {
        this.bytes = bytes;
        this.stage = stage;
        this.reducer = reducer;
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
        } else if (goesWhole(count * how.wire().bytes())) {
            allreduceWhole(buffer, count, how);
        } else {
            allreduceSlices(buffer, count, how);
        }
    }

    /** Two ranks send no more that way. With more of them, it pays only for few bytes. */
    private boolean goesWhole(int length) {
        long all = (long) length * stage.size;
        return all <= stage.back().capacity() && (stage.size == 2 || all <= WHOLE_BYTES);
    }

    /** Each rank collects all data from all ranks in one step instead of two, and reduces it as the others do. */
    private void allreduceWhole(ByteBuffer buffer, int count, Reduction how) {
        int length = count * how.wire().bytes();
        stage.back().put(stage.rank * length, buffer, 0, length);
        bytes.allgatherInPlace(stage.back(), length);
        reduceBack(count, how, Stage.part(buffer, 0, length));
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
