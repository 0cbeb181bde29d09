package io.hvd.host.hybrid;

import io.hvd.buffer.BufferLedger;
import io.hvd.buffer.BufferLedger.Owner;
import io.hvd.host.hybrid.BackendThread.TransferHalf;
import io.hvd.kernel.Converter;
import io.hvd.kernel.FlatView;
import io.hvd.kernel.Reducer;
import io.hvd.kernel.Scale;
import io.hvd.spi.Activities;
import io.hvd.spi.Collectives;
import io.hvd.spi.Pieces;
import io.hvd.spi.PointToPoint;
import io.hvd.spi.Reduction;
import io.hvd.tensor.DType;
import io.hvd.tensor.Tensor;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;

/**
 * Collectives among any ranks, made of transfers between every two of them. A reduction is cut into one slice for each
 * rank, which adds its own slice in the order of the ranks; a broadcast gives the slices out. In both cases all ranks then collect the slices, so that each sends and receives about twice the data.
 */
final class TransferCollectives implements Collectives {
    private final ProcessPairs pairs;
    private final PointToPoint threads;
    private final List<Integer> ranks;
    private final int self;
    private final int size;
    private final int stageBytes;
    private ByteBuffer front;
    private ByteBuffer back;
    private final Converter converter = new Converter();
    private final Reducer reducer = new Reducer();

    /**
     * @param threads the way of a tensor from thread to thread of this process, by their numbers
     * @param ranks global ranks, ascending
     * @param self this rank's place among them
     */
    TransferCollectives(ProcessPairs pairs, PointToPoint threads, List<Integer> ranks, int self, int stageBytes) {
        this.pairs = pairs;
        this.threads = threads;
        this.ranks = ranks;
        this.self = self;
        this.size = ranks.size();
        this.stageBytes = stageBytes;
    }

    /** The buffer that data is packed into, made when it is first needed. */
    private ByteBuffer front() {
        front = front == null ? stage() : front;
        return front;
    }

    /** The buffer that receives what is reduced or unpacked elsewhere, made when it is first needed. */
    private ByteBuffer back() {
        back = back == null ? stage() : back;
        return back;
    }

    private ByteBuffer stage() {
        return BufferLedger.PROCESS.direct(Owner.TRANSFERS, stageBytes + spare());
    }

    /** Slices differ by one element, and lie side by side at the length of the longest. */
    private int spare() {
        return Double.BYTES * size;
    }

    /** Number of elements that each rank may have on the stage when those of all ranks lie there side by side. */
    private int share(DType type) {
        return Math.max(1, stageBytes / type.bytes() / size);
    }

    @Override
    public void allreduce(List<Tensor> inputs, List<Tensor> outputs, Reduction how) {
        FlatView source = new FlatView(inputs, how.wire(), converter);
        FlatView target = source.of(outputs);
        int chunk = stageBytes / how.wire().bytes();
        for (long from = 0; from < source.elements(); from += chunk) {
            int count = (int) Math.min(chunk, source.elements() - from);
            source.pack(from, count, front(), how.prescale());
            Slices slices = new Slices(count, how.wire().bytes());
            int mine = slices.bytes(self);
            swap(slices::start, slices::bytes, other -> other * mine, other -> mine);
            reduceBack(mine / how.wire().bytes(), how, part(front(), slices.start(self), mine));
            collect(slices);
            target.unpack(from, count, front(), how.scale());
        }
    }

    @Override
    public void broadcast(List<Tensor> inputs, List<Tensor> outputs, int root) {
        DType type = inputs.get(0).dtype();
        FlatView source = new FlatView(inputs, type, converter);
        FlatView target = source.of(outputs);
        int chunk = stageBytes / type.bytes();
        for (long from = 0; from < source.elements(); from += chunk) {
            int count = (int) Math.min(chunk, source.elements() - from);
            Slices slices = new Slices(count, type.bytes());
            if (self == root) {
                source.pack(from, count, front(), 1);
            }
            handOut(slices, root);
            collect(slices);
            target.unpack(from, count, front(), Scale.ONE);
        }
    }

    /** Sends every rank its slice of the root's front. */
    private void handOut(Slices slices, int root) {
        List<TransferHalf> halves = new ArrayList<>();
        for (int other = 0; other < size; other++) {
            if (self == root && other != root) {
                add(halves, true, other, part(front(), slices.start(other), slices.bytes(other)));
            }
        }
        if (self != root) {
            add(halves, false, root, part(front(), slices.start(self), slices.bytes(self)));
        }
        pairs.transfer(halves);
    }

    /** Collects all slices in the front, each from the rank that owns it. */
    private void collect(Slices slices) {
        List<TransferHalf> halves = new ArrayList<>();
        for (int other = 0; other < size; other++) {
            if (other != self) {
                add(halves, true, other, part(front(), slices.start(self), slices.bytes(self)));
                add(halves, false, other, part(front(), slices.start(other), slices.bytes(other)));
            }
        }
        pairs.transfer(halves);
    }

    @Override
    public void reduceScatter(Tensor input, Tensor output, long[] elements, Reduction how) {
        int share = share(how.wire());
        int bytes = how.wire().bytes();
        Pieces out = Pieces.oneBehindTheOther(elements);
        for (long from = 0; from < out.longest(); from += share) {
            int mine = out.count(self, from, share);
            pack(input, out, from, share, how.wire(), how.prescale());
            long round = from;
            swap(
                    other -> other * share * bytes,
                    other -> bytes * out.count(other, round, share),
                    other -> other * mine * bytes,
                    other -> mine * bytes);
            reduceBack(mine, how, part(front(), 0, mine * bytes));
            converter.unpack(front(), 0, how.wire(), output, from, mine, how.scale());
        }
    }

    @Override
    public void reduce(Tensor input, Tensor output, Reduction how, int root) {
        int share = share(how.wire());
        int bytes = how.wire().bytes();
        for (long from = 0; from < input.elements(); from += share) {
            int count = (int) Math.min(share, input.elements() - from);
            converter.pack(input, from, count, front(), 0, how.wire(), how.prescale());
            swap(
                    other -> 0,
                    other -> other == root ? count * bytes : 0,
                    other -> other * count * bytes,
                    other -> self == root ? count * bytes : 0);
            if (self == root) {
                reduceBack(count, how, part(front(), 0, count * bytes));
                converter.unpack(front(), 0, how.wire(), output, from, count, how.scale());
            }
        }
    }

    @Override
    public void allgather(Tensor input, Tensor output, long[] elements) {
        move(input, Pieces.same(elements[self], size), output, Pieces.oneBehindTheOther(elements));
    }

    @Override
    public void gather(Tensor input, Tensor output, long[] elements, int root) {
        Pieces in = self == root ? Pieces.oneBehindTheOther(elements) : Pieces.none(size);
        move(input, Pieces.only(root, elements[self], size), output, in);
    }

    @Override
    public void scatter(Tensor input, Tensor output, long[] elements, int root) {
        Pieces out = self == root ? Pieces.oneBehindTheOther(elements) : Pieces.none(size);
        move(input, out, output, Pieces.only(root, elements[self], size));
    }

    @Override
    public void alltoall(Tensor input, Tensor output, long[] sent, long[] received, long longest) {
        move(input, Pieces.oneBehindTheOther(sent), output, Pieces.oneBehindTheOther(received));
    }

    @Override
    public void send(Tensor tensor, int to) {
        int rank = ranks.get(to);
        if (pairs.isHere(rank)) {
            threads.send(tensor, pairs.threadOf(rank));
        } else {
            pairs.send(tensor, rank, front());
        }
    }

    @Override
    public void receive(Tensor tensor, int from) {
        int rank = ranks.get(from);
        if (pairs.isHere(rank)) {
            threads.receive(tensor, pairs.threadOf(rank));
        } else {
            pairs.receive(tensor, rank, front());
        }
    }

    /** Moves a share of each piece in each round. Two ranks exchange as many rounds as their piece needs. */
    private void move(Tensor input, Pieces out, Tensor output, Pieces in) {
        DType type = (input != null ? input : output).dtype();
        int share = share(type);
        int bytes = type.bytes();
        for (long from = 0; from < Math.max(out.longest(), in.longest()); from += share) {
            pack(input, out, from, share, type, 1);
            long round = from;
            swap(
                    other -> other * share * bytes,
                    other -> bytes * out.count(other, round, share),
                    other -> other * share * bytes,
                    other -> bytes * in.count(other, round, share));
            for (int other = 0; other < size; other++) {
                int count = in.count(other, from, share);
                int at = other * share * bytes;
                converter.unpack(back(), at, type, output, in.starts()[other] + from, count, Scale.ONE);
            }
        }
    }

    private void pack(Tensor input, Pieces out, long from, int share, DType type, double scale) {
        for (int other = 0; other < size; other++) {
            int count = out.count(other, from, share);
            int at = other * share * type.bytes();
            converter.pack(input, out.starts()[other] + from, count, front(), at, type, scale);
        }
    }

    private interface ForRank {
        int of(int rank);
    }

    /**
     * Sends every rank a piece of the front and receives a piece of every rank into the back; this rank's own piece is
     * copied.
     */
    private void swap(ForRank outStart, ForRank outBytes, ForRank inStart, ForRank inBytes) {
        List<TransferHalf> halves = new ArrayList<>();
        for (int other = 0; other < size; other++) {
            ByteBuffer out = part(front(), outStart.of(other), outBytes.of(other));
            ByteBuffer in = part(back(), inStart.of(other), inBytes.of(other));
            if (other == self) {
                in.put(out);
            } else {
                add(halves, true, other, out);
                add(halves, false, other, in);
            }
        }
        pairs.transfer(halves);
    }

    private void add(List<TransferHalf> halves, boolean outgoing, int other, ByteBuffer bytes) {
        if (bytes.hasRemaining()) {
            int rank = ranks.get(other);
            halves.add(outgoing ? pairs.to(rank, bytes) : pairs.from(rank, bytes));
        }
    }

    /** Reduces the pieces in the back, which lie one behind the other, by rank. */
    private void reduceBack(int count, Reduction how, ByteBuffer target) {
        int bytes = count * how.wire().bytes();
        List<ByteBuffer> parts = new ArrayList<>(size);
        for (int from = 0; from < size; from++) {
            parts.add(part(back(), from * bytes, bytes));
        }
        reducer.reduce(how.op(), how.wire(), parts, 0, count, target);
    }

    private static ByteBuffer part(ByteBuffer buffer, int from, int bytes) {
        return buffer.slice(from, bytes).order(ByteOrder.nativeOrder());
    }

    /** A chunk cut into about equal slices, one for each rank. */
    private final class Slices {
        private final int count;
        private final int elementBytes;

        Slices(int count, int elementBytes) {
            this.count = count;
            this.elementBytes = elementBytes;
        }

        int start(int rank) {
            return (int) ((long) count * rank / size) * elementBytes;
        }

        int bytes(int rank) {
            return start(rank + 1) - start(rank);
        }
    }

    @Override
    public void report(Activities to) {
        // The parts of a transfer are not told apart.
    }

    @Override
    public Completion completion() {
        return null;
    }

    @Override
    public void abandon() {
        // The back end's thread releases a thread that waits for a transfer.
    }

    @Override
    public void close() {
        // There is nothing to release but memory.
    }
}
