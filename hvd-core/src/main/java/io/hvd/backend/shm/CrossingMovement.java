package io.hvd.backend.shm;

import io.hvd.backend.shm.Layout.Counter;
import io.hvd.backend.shm.SegmentPass.Slice;
import io.hvd.spi.Activities;
import io.hvd.spi.Collectives.Completion;
import io.hvd.spi.Pieces;
import io.hvd.spi.Reduction;
import io.hvd.tensor.Converter;
import io.hvd.tensor.DType;
import io.hvd.tensor.FlatView;
import io.hvd.tensor.Reducer;
import io.hvd.tensor.Scale;
import io.hvd.tensor.Tensor;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import java.util.function.LongFunction;

/**
 * Broadcast, allgather and reduce-scatter over several hosts, round by round. Between two hosts every byte goes once,
 * and each rank carries its part of them; inside a host the bytes go through the segment. While the bytes of one round
 * are under way between the hosts, the ranks unpack those of the round before and pack those of the next one. As in an
 * allreduce between hosts, 16-bit floats are rounded once in each host and once more where the hosts' sums are added.
 */
final class CrossingMovement {
    private final Rounds rounds;
    private final Segment segment;
    private final Crossing across;
    private final List<List<Integer>> hosts;
    private final int host;
    private final Converter converter = new Converter();
    private final Reducer reducer;
    /** Buffers for the data of all hosts that is combined here, by parity of the round; made when they are needed. */
    private final ByteBuffer[] arrivals = new ByteBuffer[2];

    /**
     * @param hosts numbers of the ranks of each host, by place; all hosts have the same number of ranks
     * @param host the number of this host
     */
    CrossingMovement(Rounds rounds, Reducer reducer, Crossing across, List<List<Integer>> hosts, int host) {
        this.rounds = rounds;
        this.reducer = reducer;
        this.segment = rounds.segment();
        this.across = across;
        this.hosts = hosts;
        this.host = host;
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
        int rootHost = hostOf(root);
        boolean isRoot = hosts.get(host).get(segment.rank()) == root;
        boolean keeps = isRoot && inputs.equals(outputs);
        int chunk = segment.stageBytes() / type.bytes();
        inRounds(source.elements(), chunk, from -> {
            int count = (int) Math.min(chunk, source.elements() - from);
            long here = isRoot ? show(source, from, count) : enter();
            rounds.await(Counter.PACKED, here);
            ByteBuffer result = segment.place(here).result();
            Completion crossing = across.beginBroadcast(part(result, slice(count, type), type), rootHost);
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

    private int hostOf(int member) {
        int found = 0;
        while (!hosts.get(found).contains(member)) {
            found++;
        }
        return found;
    }

    /** Enters the next round after all other ranks of the host, and puts the root's data into the result. */
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
            PieceLayout layout = new PieceLayout(hosts, pieces, from, share);
            long here = enter();
            rounds.await(Counter.PACKED, here);
            ByteBuffer result = segment.place(here).result();
            int place = segment.rank();
            int mine = layout.count(place, host);
            if (mine > 0) {
                long begun = begin();
                converter.pack(input, from, mine, result, layout.start(place, host) * type.bytes(), type, 1);
                end(Activities.COPY_IN, begun);
            }
            Completion crossing = across.beginAllgather(
                    part(result, column(layout), type), layout.lengths(place, type.bytes()), host);
            return () -> {
                land(here, crossing);
                take(layout, result, output, pieces, from);
            };
        });
    }

    private void take(PieceLayout layout, ByteBuffer result, Tensor output, Pieces pieces, long from) {
        DType type = output.dtype();
        long begun = begin();
        for (int place = 0; place < layout.places(); place++) {
            for (int there = 0; there < hosts.size(); there++) {
                int count = layout.count(place, there);
                if (count > 0) {
                    long to = pieces.starts()[layout.member(place, there)] + from;
                    converter.unpack(
                            result, layout.start(place, there) * type.bytes(), type, output, to, count, Scale.ONE);
                }
            }
        }
        end("SHM_ALLGATHER", begun);
    }

    void reduceScatter(Tensor input, Tensor output, long[] elements, Reduction how) {
        DType wire = how.wire();
        Pieces pieces = Pieces.oneBehindTheOther(elements);
        int share = share(wire);
        inRounds(pieces.longest(), share, from -> {
            PieceLayout layout = new PieceLayout(hosts, pieces, from, share);
            pack(layout, input, pieces, from, how);
            long here = rounds.current();
            rounds.await(Counter.PACKED, here);
            Slice column = column(layout);
            ByteBuffer result = segment.place(here).result();
            long begun = begin();
            reducer.reduce(how.op(), wire, segment.place(here).stages(), column.first(), column.count(), result);
            end("SHM_REDUCESCATTER", begun);
            int mine = layout.count(segment.rank(), host);
            ByteBuffer arrival = arrival(here).slice(0, hosts.size() * mine * wire.bytes());
            Completion crossing = across.beginScatter(
                    part(result, column, wire),
                    layout.lengths(segment.rank(), wire.bytes()),
                    arrival,
                    mine * wire.bytes());
            return () -> {
                across.await(crossing);
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
        for (int place = 0; place < layout.places(); place++) {
            for (int to = 0; to < hosts.size(); to++) {
                int count = layout.count(place, to);
                if (count > 0) {
                    long first = pieces.starts()[layout.member(place, to)] + from;
                    int at = layout.start(place, to) * wire.bytes();
                    converter.pack(input, first, count, stage, at, wire, how.prescale());
                }
            }
        }
        end(Activities.COPY_IN, begun);
        rounds.packed();
    }

    /** Combines the parts of all hosts, in the order of the hosts, and writes the result to the output. */
    private void combine(ByteBuffer arrival, int count, Tensor output, long from, Reduction how) {
        int bytes = count * how.wire().bytes();
        List<ByteBuffer> parts = new ArrayList<>();
        for (int i = 0; i < hosts.size(); i++) {
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

    /** Waits until all parts of this host's result of a round have arrived. */
    private void land(long round, Completion crossing) {
        across.await(crossing);
        rounds.reduced(round);
        rounds.await(Counter.REDUCED, round);
    }

    /** The slice that this rank carries of a chunk for all hosts. */
    private Slice slice(int count, DType type) {
        return SegmentPass.slice(count, type, segment, 0);
    }

    /** The slice that this rank carries of the parts of all ranks. */
    private Slice column(PieceLayout layout) {
        return new Slice(layout.start(segment.rank(), 0), layout.count(segment.rank()));
    }

    private static ByteBuffer part(ByteBuffer buffer, Slice slice, DType type) {
        return buffer.slice(slice.first() * type.bytes(), slice.count() * type.bytes());
    }

    private ByteBuffer arrival(long round) {
        int parity = (int) (round & 1);
        if (arrivals[parity] == null) {
            arrivals[parity] = ByteBuffer.allocateDirect(segment.stageBytes() / segment.ranks());
        }
        return arrivals[parity];
    }

    /** Number of elements of every rank's part of a round. */
    private int share(DType type) {
        return segment.stageBytes() / type.bytes() / (segment.ranks() * hosts.size());
    }

    private long begin() {
        return rounds.activities().begin();
    }

    private void end(String activity, long begun) {
        rounds.activities().end(activity, begun);
    }
}
