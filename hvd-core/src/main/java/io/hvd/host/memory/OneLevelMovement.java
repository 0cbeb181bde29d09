package io.hvd.host.memory;

import io.hvd.buffer.BufferLedger;
import io.hvd.buffer.BufferLedger.Owner;
import io.hvd.host.memory.Layout.Counter;
import io.hvd.kernel.Converter;
import io.hvd.kernel.FlatView;
import io.hvd.kernel.Reducer;
import io.hvd.kernel.Scale;
import io.hvd.spi.Activities;
import io.hvd.spi.Pieces;
import io.hvd.spi.Reduction;
import io.hvd.tensor.DType;
import io.hvd.tensor.Tensor;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;

/** Collectives through one memory in which a rank copies its own parts from the other ranks' stages. */
final class OneLevelMovement {
    private final Rounds rounds;
    private final Segment segment;
    private final Converter converter = Converter.ofPlaces();
    private final Reducer reducer;
    /** A buffer that is made when it is needed. */
    private ByteBuffer own;

    OneLevelMovement(Rounds rounds, Reducer reducer) {
        this.rounds = rounds;
        this.reducer = reducer;
        this.segment = rounds.segment();
    }

    void broadcast(List<Tensor> inputs, List<Tensor> outputs, int root) {
        DType type = inputs.get(0).dtype();
        FlatView source = new FlatView(inputs, type, converter);
        FlatView target = source.of(outputs);
        boolean keeps = segment.rank() == root && inputs.equals(outputs);
        int chunk = segment.stageBytes() / type.bytes();
        for (long from = 0; from < target.elements(); from += chunk) {
            int count = (int) Math.min(chunk, target.elements() - from);
            ByteBuffer stage = rounds.next();
            if (segment.rank() == root) {
                long begun = begin();
                source.pack(from, count, stage, 1);
                end(Activities.COPY_IN, begun);
            }
            rounds.packed();
            if (!keeps) {
                long here = rounds.current();
                rounds.await(Counter.PACKED, root, here);
                long begun = begin();
                target.unpack(from, count, segment.place(here).stages().get(root), Scale.ONE);
                end("SHM_BCAST", begun);
            }
        }
    }

    void allgather(Tensor input, Tensor output, long[] elements) {
        collect(input, output, elements, "SHM_ALLGATHER");
    }

    /** @param output null on all ranks but the root */
    void gather(Tensor input, Tensor output, long[] elements, int root) {
        collect(input, segment.rank() == root ? output : null, elements, "SHM_GATHER");
    }

    /** @param output null on a rank that takes nothing */
    private void collect(Tensor input, Tensor output, long[] elements, String activity) {
        DType type = input.dtype();
        Pieces pieces = Pieces.oneBehindTheOther(elements);
        int chunk = segment.stageBytes() / type.bytes();
        for (long from = 0; from < pieces.longest(); from += chunk) {
            ByteBuffer stage = rounds.next();
            pack(input, from, pieces.count(segment.rank(), from, chunk), stage, 0, type, 1);
            rounds.packed();
            for (int other = 0; output != null && other < segment.ranks(); other++) {
                int count = pieces.count(other, from, chunk);
                if (count > 0) {
                    take(other, 0, type, output, pieces.starts()[other] + from, count, activity);
                }
            }
        }
    }

    /** @param input null on all ranks but the root */
    void scatter(Tensor input, Tensor output, long[] elements, int root) {
        Pieces none = Pieces.none(segment.ranks());
        Pieces outgoing = segment.rank() == root ? Pieces.oneBehindTheOther(elements) : none;
        Pieces incoming = Pieces.only(root, elements[segment.rank()], segment.ranks());
        exchange(
                input, outgoing, output, incoming, Arrays.stream(elements).max().orElse(0), "SHM_SCATTER");
    }

    void alltoall(Tensor input, Tensor output, long[] sent, long[] received, long longest) {
        Pieces outgoing = Pieces.oneBehindTheOther(sent);
        exchange(input, outgoing, output, Pieces.oneBehindTheOther(received), longest, "SHM_ALLTOALL");
    }

    private void exchange(
            Tensor input, Pieces outgoing, Tensor output, Pieces incoming, long longest, String activity) {
        DType type = output.dtype();
        int share = share(type);
        for (long done = 0; done < longest; done += share) {
            packForAll(input, outgoing, new Cut(done, share), type, 1);
            for (int other = 0; other < segment.ranks(); other++) {
                int count = incoming.count(other, done, share);
                if (count > 0) {
                    int at = segment.rank() * share * type.bytes();
                    take(other, at, type, output, incoming.starts()[other] + done, count, activity);
                }
            }
        }
    }

    void reduceScatter(Tensor input, Tensor output, long[] elements, Reduction how) {
        Pieces pieces = Pieces.oneBehindTheOther(elements);
        int share = share(how.wire());
        for (long done = 0; done < pieces.longest(); done += share) {
            packForAll(input, pieces, new Cut(done, share), how.wire(), how.prescale());
            long here = rounds.current();
            rounds.await(Counter.PACKED, here);
            int mine = pieces.count(segment.rank(), done, share);
            if (mine > 0) {
                long begun = begin();
                int first = segment.rank() * share;
                reducer.reduce(how.op(), how.wire(), segment.place(here).stages(), first, mine, own());
                int at = first * how.wire().bytes();
                converter.unpack(own(), at, how.wire(), output, done, mine, how.scale());
                end("SHM_REDUCESCATTER", begun);
            }
        }
    }

    /** @param from the first element of every piece that is taken, counted from the piece's start */
    private record Cut(long from, int share) {}

    /** Packs the piece for every rank at its own place on the stage. */
    private void packForAll(Tensor input, Pieces pieces, Cut cut, DType wire, double scale) {
        ByteBuffer stage = rounds.next();
        long begun = begin();
        for (int to = 0; to < segment.ranks(); to++) {
            int count = pieces.count(to, cut.from(), cut.share());
            pack(input, pieces.starts()[to] + cut.from(), count, stage, to * cut.share() * wire.bytes(), wire, scale);
        }
        end(Activities.COPY_IN, begun);
        rounds.packed();
    }

    private void pack(Tensor input, long first, int count, ByteBuffer stage, int at, DType wire, double scale) {
        if (count > 0) {
            converter.pack(input, first, count, stage, at, wire, scale);
        }
    }

    private void take(int other, int at, DType type, Tensor output, long first, int count, String activity) {
        long here = rounds.current();
        rounds.await(Counter.PACKED, other, here);
        long begun = begin();
        converter.unpack(segment.place(here).stages().get(other), at, type, output, first, count, Scale.ONE);
        end(activity, begun);
    }

    private ByteBuffer own() {
        if (own == null) {
            own = BufferLedger.PROCESS.direct(Owner.MOVEMENT, segment.stageBytes());
        }
        return own;
    }

    private long begin() {
        return rounds.activities().begin();
    }

    private void end(String activity, long begun) {
        rounds.activities().end(activity, begun);
    }

    /** Number of elements of every rank's place on a stage. */
    private int share(DType type) {
        return segment.stageBytes() / type.bytes() / segment.ranks();
    }
}
