package io.hvd.host.memory;

import io.hvd.buffer.BufferLedger;
import io.hvd.buffer.BufferLedger.Owner;
import io.hvd.host.memory.Layout.Counter;
import io.hvd.kernel.Converter;
import io.hvd.kernel.FlatView;
import io.hvd.kernel.Reducer;
import io.hvd.kernel.Scale;
import io.hvd.spi.Activities;
import io.hvd.spi.Collectives.Completion;
import io.hvd.spi.Pieces;
import io.hvd.spi.Reduction;
import io.hvd.tensor.DType;
import io.hvd.tensor.Tensor;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import java.util.function.LongFunction;

/**
 * Broadcast, allgather and reduce-scatter over several groups, round by round. Between two groups every byte goes once,
 * by its carrier; inside a group the bytes go through the memory that its ranks share. While the bytes of one round are
 * under way between the groups, the ranks unpack those of the round before and pack those of the next one. As in an
 * allreduce of two levels, 16-bit floats are rounded once in each group and once more where the groups' sums are added.
 */
final class TwoLevelMovement {
    private final Rounds rounds;
    private final Segment segment;
    private final OuterExchange outer;
    private final Groups groups;
    private final Converter converter = Converter.ofPlaces();
    private final Reducer reducer;
    /** Buffers for the data of all groups that is combined here, by parity of the round; made when they are needed. */
    private final ByteBuffer[] arrivals = new ByteBuffer[2];

    TwoLevelMovement(Rounds rounds, Reducer reducer, OuterExchange outer, Groups groups) {
        this.rounds = rounds;
        this.reducer = reducer;
        this.segment = rounds.segment();
        this.outer = outer;
        this.groups = groups;
    }

    /** The second half of a round, when its bytes are under way. */
    private interface Arrival {
        void await();
    }

    private static void inRounds(long elements, int most, LongFunction<Arrival> setOut) {
        Arrival before = () -> {};
        for (long from = 0; from < elements; from += most) {
            Arrival now = setOut.apply(from);
            before.await();
            before = now;
        }
        before.await();
    }

    /** Whether a round has room for at least one element of every rank. */
    boolean hasRoom() {
        return share(DType.FLOAT64) > 0;
    }

    void broadcast(List<Tensor> inputs, List<Tensor> outputs, int root) {
        DType type = inputs.get(0).dtype();
        FlatView source = new FlatView(inputs, type, converter);
        FlatView target = source.of(outputs);
        int rootGroup = groups.groupOf(root);
        boolean isRoot = groups.member(segment.rank(), groups.own()) == root;
        boolean keeps = isRoot && inputs.equals(outputs);
        int chunk = segment.stageBytes() / type.bytes();
        inRounds(source.elements(), chunk, from -> {
            int count = (int) Math.min(chunk, source.elements() - from);
            long here = isRoot ? show(source, from, count) : enter();
            rounds.await(Counter.PACKED, here);
            ByteBuffer result = segment.place(here).result();
            Slice carried = outer.carried(count, type, 0);
            Completion crossing = outer.beginBroadcast(carried.of(result, type), rootGroup);
            return () -> {
                land(here, crossing);
                if (!keeps) {
                    long begun = begin();
                    target.unpack(from, count, result, Scale.ONE);
                    end("SHM_BCAST", begun);
                }
            };
        });
    }

    /** Enters the next round after all other ranks of the group, and puts the root's data into the result. */
    private long show(FlatView source, long from, int count) {
        rounds.next();
        long here = rounds.current();
        for (int other = 0; other < segment.ranks(); other++) {
            if (other != segment.rank()) {
                rounds.await(Counter.PACKED, other, here);
            }
        }
        long begun = begin();
        source.pack(from, count, segment.place(here).result(), 1);
        end(Activities.COPY_IN, begun);
        rounds.packed();
        return here;
    }

    void allgather(Tensor input, Tensor output, long[] elements) {
        DType type = output.dtype();
        Pieces pieces = Pieces.oneBehindTheOther(elements);
        int share = share(type);
        inRounds(pieces.longest(), share, from -> {
            PieceLayout layout = new PieceLayout(groups, pieces, from, share);
            long here = enter();
            rounds.await(Counter.PACKED, here);
            ByteBuffer result = segment.place(here).result();
            int place = segment.rank();
            int mine = layout.count(place, groups.own());
            if (mine > 0) {
                long begun = begin();
                int at = layout.start(place, groups.own()) * type.bytes();
                converter.pack(input, from, mine, result, at, type, 1);
                end(Activities.COPY_IN, begun);
            }
            outer.awaitParts(here);
            Completion crossing =
                    outer.beginAllgather(layout.carried(place).of(result, type), layout.lengths(place, type.bytes()));
            return () -> {
                land(here, crossing);
                take(layout, result, output, pieces, from);
            };
        });
    }

    private void take(PieceLayout layout, ByteBuffer result, Tensor output, Pieces pieces, long from) {
        DType type = output.dtype();
        long begun = begin();
        for (int there = 0; there < groups.count(); there++) {
            for (int place = 0; place < groups.places(there); place++) {
                int count = layout.count(place, there);
                if (count > 0) {
                    long to = pieces.starts()[groups.member(place, there)] + from;
                    int at = layout.start(place, there) * type.bytes();
                    converter.unpack(result, at, type, output, to, count, Scale.ONE);
                }
            }
        }
        end("SHM_ALLGATHER", begun);
    }

    /** Does a reduce-scatter, in which every rank carries. */
    void reduceScatter(Tensor input, Tensor output, long[] elements, Reduction how) {
        DType wire = how.wire();
        Pieces pieces = Pieces.oneBehindTheOther(elements);
        int share = share(wire);
        inRounds(pieces.longest(), share, from -> {
            PieceLayout layout = new PieceLayout(groups, pieces, from, share);
            pack(layout, input, pieces, from, how);
            long here = rounds.current();
            rounds.await(Counter.PACKED, here);
            int place = segment.rank();
            Slice carried = layout.carried(place);
            ByteBuffer result = segment.place(here).result();
            long begun = begin();
            reducer.reduce(how.op(), wire, segment.place(here).stages(), carried.first(), carried.count(), result);
            end("SHM_REDUCESCATTER", begun);
            int mine = layout.count(place, groups.own());
            ByteBuffer arrival = arrival(here).slice(0, groups.count() * mine * wire.bytes());
            Completion crossing = outer.beginScatter(
                    carried.of(result, wire), layout.lengths(place, wire.bytes()), arrival, mine * wire.bytes());
            return () -> {
                outer.await(crossing);
                if (mine > 0) {
                    combine(arrival, mine, output, from, how);
                }
            };
        });
    }

    private void pack(PieceLayout layout, Tensor input, Pieces pieces, long from, Reduction how) {
        ByteBuffer stage = rounds.next();
        DType wire = how.wire();
        long begun = begin();
        for (int to = 0; to < groups.count(); to++) {
            for (int place = 0; place < groups.places(to); place++) {
                int count = layout.count(place, to);
                if (count > 0) {
                    long first = pieces.starts()[groups.member(place, to)] + from;
                    int at = layout.start(place, to) * wire.bytes();
                    converter.pack(input, first, count, stage, at, wire, how.prescale());
                }
            }
        }
        end(Activities.COPY_IN, begun);
        rounds.packed();
    }

    /** Combines the parts of all groups, in the order of the groups, and writes the result to the output. */
    private void combine(ByteBuffer arrival, int count, Tensor output, long from, Reduction how) {
        int bytes = count * how.wire().bytes();
        List<ByteBuffer> parts = new ArrayList<>();
        for (int i = 0; i < groups.count(); i++) {
            parts.add(arrival.slice(i * bytes, bytes).order(ByteOrder.nativeOrder()));
        }
        long begun = begin();
        reducer.reduce(how.op(), how.wire(), parts, 0, count, parts.get(0));
        converter.unpack(parts.get(0), 0, how.wire(), output, from, count, how.scale());
        end("SHM_REDUCESCATTER", begun);
    }

    /**
     * Enters the next round with an empty stage.
     *
     * @return the number of the round
     */
    private long enter() {
        rounds.next();
        rounds.packed();
        return rounds.current();
    }

    /** Waits until all parts of this group's result of a round have arrived. */
    private void land(long round, Completion crossing) {
        outer.await(crossing);
        rounds.reduced(round);
        rounds.await(Counter.REDUCED, round);
    }

    private ByteBuffer arrival(long round) {
        int parity = (int) (round & 1);
        if (arrivals[parity] == null) {
            arrivals[parity] = BufferLedger.PROCESS.direct(Owner.MOVEMENT, segment.stageBytes() / segment.ranks());
        }
        return arrivals[parity];
    }

    /** Number of elements of every rank's part of a round. */
    private int share(DType type) {
        return segment.stageBytes() / type.bytes() / groups.ranks();
    }

    private long begin() {
        return rounds.activities().begin();
    }

    private void end(String activity, long begun) {
        rounds.activities().end(activity, begun);
    }
}
