package io.hvd.host.memory;

import io.hvd.buffer.BufferLedger;
import io.hvd.buffer.BufferLedger.Owner;
import io.hvd.host.memory.Layout.Counter;
import io.hvd.kernel.Converter;
import io.hvd.kernel.Scale;
import io.hvd.spi.Activities;
import io.hvd.spi.Collectives.Completion;
import io.hvd.spi.Pieces;
import io.hvd.tensor.DType;
import io.hvd.tensor.Tensor;
import java.nio.ByteBuffer;

/**
 * An alltoall over groups of equal numbers of ranks, in one round. Every rank shows its pieces to its group. A rank then
 * takes from the stages what the ranks of its group have for those at its place in the other groups, and sends it in one
 * piece to each of them. So a rank sends a message to each group instead of one to each rank. The pieces within a group
 * need no message.
 *
 * <p>A stage begins with the number of elements for each rank. Behind it, each rank's piece has a slot of the same size.
 */
final class TwoLevelAlltoall {
    private static final String ACTIVITY = "SHM_ALLTOALL";

    private final Rounds rounds;
    private final Segment segment;
    private final OuterExchange outer;
    private final Groups groups;
    private final Converter converter = Converter.ofPlaces();
    private final int slotsFrom;
    /** What leaves for the other groups, and what arrives from them; made when they are needed. */
    private ByteBuffer leaving;

    private ByteBuffer arriving;

    TwoLevelAlltoall(Rounds rounds, OuterExchange outer, Groups groups) {
        this.rounds = rounds;
        this.segment = rounds.segment();
        this.outer = outer;
        this.groups = groups;
        this.slotsFrom = (groups.ranks() * Integer.BYTES + Long.BYTES - 1) / Long.BYTES * Long.BYTES;
    }

    /** Whether a stage has room for a piece of so many elements for each rank. */
    boolean holds(long longest, DType type) {
        return longest <= (segment.stageBytes() - slotsFrom) / type.bytes() / groups.ranks();
    }

    void run(Tensor input, Tensor output, long[] sent, long[] received, long longest) {
        int slot = Math.toIntExact(longest * input.dtype().bytes());
        show(input, sent, slot);
        long here = rounds.current();
        rounds.await(Counter.PACKED, here);
        long begun = rounds.activities().begin();
        long[] lengthsOut = depart(here, slot, input.dtype());
        long[] lengthsIn = new long[groups.count()];
        for (int there = 0; there < groups.count(); there++) {
            for (int place = 0; there != groups.own() && place < groups.places(there); place++) {
                lengthsIn[there] +=
                        received[groups.member(place, there)] * input.dtype().bytes();
            }
        }
        rounds.activities().end(ACTIVITY, begun);
        arriving = buffer(arriving);
        Completion crossing =
                outer.beginAlltoall(leaving, lengthsOut, arriving, lengthsIn, (long) slot * segment.ranks());
        land(here, slot, output, received, crossing);
    }

    private void show(Tensor input, long[] sent, int slot) {
        DType type = input.dtype();
        ByteBuffer stage = rounds.next();
        long begun = rounds.activities().begin();
        long[] starts = Pieces.oneBehindTheOther(sent).starts();
        for (int to = 0; to < sent.length; to++) {
            int count = Math.toIntExact(sent[to]);
            stage.putInt(to * Integer.BYTES, count);
            if (count > 0) {
                converter.pack(input, starts[to], count, stage, slotsFrom + to * slot, type, 1);
            }
        }
        rounds.activities().end(Activities.COPY_IN, begun);
        rounds.packed();
    }

    /** Puts together what this group has for the ranks at this place. @return bytes for each group, none for its own */
    private long[] depart(long round, int slot, DType type) {
        leaving = buffer(leaving);
        int at = 0;
        long[] lengths = new long[groups.count()];
        for (int there = 0; there < groups.count(); there++) {
            int to = groups.member(segment.rank(), there);
            for (int place = 0; there != groups.own() && place < segment.ranks(); place++) {
                ByteBuffer stage = segment.place(round).stages().get(place);
                int bytes = stage.getInt(to * Integer.BYTES) * type.bytes();
                leaving.put(at, stage, slotsFrom + to * slot, bytes);
                at += bytes;
                lengths[there] += bytes;
            }
        }
        return lengths;
    }

    /** Takes the pieces of this group while those of the others are under way, and then those. */
    private void land(long round, int slot, Tensor output, long[] received, Completion crossing) {
        DType type = output.dtype();
        long[] starts = Pieces.oneBehindTheOther(received).starts();
        int self = groups.member(segment.rank(), groups.own());
        for (int place = 0; place < segment.ranks(); place++) {
            ByteBuffer stage = segment.place(round).stages().get(place);
            int from = groups.member(place, groups.own());
            take(stage, slotsFrom + self * slot, output, starts[from], received[from]);
        }
        outer.await(crossing);
        int at = 0;
        for (int there = 0; there < groups.count(); there++) {
            for (int place = 0; there != groups.own() && place < groups.places(there); place++) {
                int from = groups.member(place, there);
                take(arriving, at, output, starts[from], received[from]);
                at += Math.toIntExact(received[from] * type.bytes());
            }
        }
    }

    private void take(ByteBuffer bytes, int at, Tensor output, long to, long count) {
        if (count > 0) {
            converter.unpack(bytes, at, output.dtype(), output, to, (int) count, Scale.ONE);
        }
    }

    private ByteBuffer buffer(ByteBuffer known) {
        return known != null ? known : BufferLedger.PROCESS.direct(Owner.MOVEMENT, segment.stageBytes());
    }
}
