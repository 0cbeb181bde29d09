package io.hvd.host.memory;

import io.hvd.buffer.BufferLedger;
import io.hvd.buffer.BufferLedger.Owner;
import io.hvd.host.memory.Layout.Counter;
import io.hvd.kernel.Converter;
import io.hvd.kernel.Reducer;
import io.hvd.spi.Collectives.Completion;
import io.hvd.spi.Reduction;
import io.hvd.tensor.Tensor;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;

/**
 * Allreduce over several groups. Every rank combines its slice of a chunk in its group's memory, and the carriers
 * combine the group's result with those of the other groups, before the ranks copy it. While one chunk is under way
 * between the groups, the ranks unpack the chunk before it, and pack, combine and send the next one, so that the
 * network always has work.
 *
 * <p>A chunk occupies the memory from its packing until it is unpacked, and there is room for two.
 *
 * <p>Few bytes of few ranks take one step instead: every rank adds all stages for itself, and exchanges the sum with
 * the ranks at its place in the other groups. All ranks get the same bits, as these exchanges add in the same order: by
 * rank over TCP, and by MPI alike in communicators of the same size.
 */
final class TwoLevelAllreduce implements SegmentAllreduce {
    /** Up to this size, if not in one step, one rank adds and carries the whole chunk: more messages would cost more. */
    private static final int FEW_BYTES = 8192;
    /** The size of the first of several chunks, which goes alone and carries the question whether all ranks agree. */
    private static final int FIRST_BYTES = 16 << 10;
    /**
     * Up to so many bytes that leave a group, with the headers of their messages, every rank exchanges the whole sum
     * itself. That takes a message for each rank instead of one for each group, but no rank then waits for a carrier,
     * to which it would have to leave the core where ranks share cores. A link of 10 Gbit/s carries so many bytes in
     * 8 us.
     */
    private static final int BYTES_OF_ALL = 10 << 10;

    /** About what Ethernet, IP, TCP and hvd's own header add to a message. */
    private static final int HEADER_BYTES = 80;

    private final Rounds rounds;
    private final Segment segment;
    private final OuterExchange outer;
    private final Converter converter = Converter.ofPlaces();
    private final Reducer reducer;
    /** The sum that this rank exchanges itself. */
    private final ByteBuffer few;

    TwoLevelAllreduce(Rounds rounds, Reducer reducer, OuterExchange outer) {
        this.rounds = rounds;
        this.reducer = reducer;
        this.segment = rounds.segment();
        this.outer = outer;
        this.few = BufferLedger.PROCESS.direct(Owner.MOVEMENT, mostOfFew()).order(ByteOrder.nativeOrder());
    }

    /** The most bytes that every rank exchanges itself. */
    private int mostOfFew() {
        int messages = outer.messagesOfAll();
        return messages == 0 ? 0 : Math.max(0, BYTES_OF_ALL / messages - HEADER_BYTES);
    }

    private boolean isFew(long elements, Reduction how) {
        return elements > 0 && elements * how.wire().bytes() <= few.capacity();
    }

    @Override
    public boolean run(List<Tensor> inputs, List<Tensor> outputs, Reduction how) {
        SegmentPass pass = new SegmentPass(rounds, converter, reducer, inputs, outputs, how, FEW_BYTES);
        if (isFew(pass.elements(), how)) {
            return inOneStep(pass, how);
        }
        int first = first(pass.elements(), how);
        pass.packForOthers(0, first);
        if (!agreed(pass, first, how)) {
            return false;
        }
        pass.unpack(rounds.current(), 0, first);
        runRest(pass, first, how, pass::unpack);
        return true;
    }

    /** @return as {@link #run} */
    private boolean inOneStep(SegmentPass pass, Reduction how) {
        int count = (int) pass.elements();
        pass.pack(0, count);
        long here = rounds.current();
        rounds.await(Counter.PACKED, here);
        ByteBuffer sum = sumOfFew(count, how);
        if (segment.isVetoed(here)) {
            outer.veto(sum, how);
            return false;
        }
        pass.combineAll(here, 0, count, sum);
        if (!outer.allreduceUnlessVetoed(sum, how)) {
            return false;
        }
        pass.unpack(sum, count);
        return true;
    }

    private ByteBuffer sumOfFew(long elements, Reduction how) {
        return few.slice(0, (int) elements * how.wire().bytes()).order(few.order());
    }

    /**
     * Reduces, and gives this rank a range of the result.
     *
     * @param output has as many elements as the range; null if the range has none
     */
    void reduceTo(Tensor input, Tensor output, long first, long elements, Reduction how) {
        List<Tensor> inputs = List.of(input);
        SegmentPass pass = new SegmentPass(rounds, converter, reducer, inputs, inputs, how, FEW_BYTES);
        runRest(pass, 0, how, (round, from, count) -> {
            long begin = Math.max(from, first);
            long end = Math.min(from + count, first + elements);
            if (begin < end) {
                int at = Math.toIntExact((begin - from) * how.wire().bytes());
                int here = (int) (end - begin);
                converter.unpack(pass.result(round, count), at, how.wire(), output, begin - first, here, how.scale());
            }
        });
    }

    /** Takes a chunk of the result. */
    private interface Sink {
        void take(long round, long from, int count);
    }

    private int first(long elements, Reduction how) {
        int chunk = segment.stageBytes() / how.wire().bytes();
        return (int)
                (elements <= chunk
                        ? elements
                        : Math.min(chunk, FIRST_BYTES / how.wire().bytes()));
    }

    /** Asks whether all ranks agree; until this is known, no output is written. */
    private boolean agreed(SegmentPass pass, int count, Reduction how) {
        long here = rounds.current();
        rounds.await(Counter.PACKED, here);
        if (segment.isVetoed(here)) {
            tellOthersOfVeto(count, how);
            return false;
        }
        combineHere(pass, here, 0, count);
        if (!outer.allreduceUnlessVetoed(carried(here, count, how), how)) {
            rounds.veto(here);
        }
        rounds.reduced(here);
        rounds.await(Counter.REDUCED, here);
        return !segment.isVetoed(here);
    }

    /** Combines this rank's slice of a chunk, and waits for the other slices that it carries. */
    private void combineHere(SegmentPass pass, long here, long from, int count) {
        pass.combineOwn(here, from, count);
        outer.awaitParts(here);
    }

    @Override
    public void veto(long elements, Reduction how) {
        rounds.next();
        rounds.veto(rounds.current());
        rounds.packed();
        rounds.await(Counter.PACKED, rounds.current());
        if (isFew(elements, how)) {
            outer.veto(sumOfFew(elements, how), how);
        } else {
            tellOthersOfVeto(first(elements, how), how);
        }
    }

    private void tellOthersOfVeto(int count, Reduction how) {
        long here = rounds.current();
        outer.veto(carried(here, count, how), how);
        // A rank of this group may have received a veto from another group, and waits to tell it to this rank.
        rounds.reduced(here);
    }

    /** The part of a chunk's result that this rank carries to the other groups. */
    private ByteBuffer carried(long round, int count, Reduction how) {
        ByteBuffer result = segment.place(round, count * how.wire().bytes()).result();
        return outer.carried(count, how.wire(), FEW_BYTES).of(result, how.wire());
    }

    /** A chunk that is under way between the groups. */
    private record UnderWay(long round, long from, int count, Completion crossing) {}

    private void runRest(SegmentPass pass, long start, Reduction how, Sink sink) {
        long from = start;
        UnderWay before = null;
        for (int count = pass.chunk(from); count > 0; count = pass.chunk(from)) {
            pass.packForOthers(from, count);
            UnderWay now = begin(pass, from, count, how);
            if (before != null) {
                finish(before, sink);
            }
            before = now;
            from += count;
        }
        if (before != null) {
            finish(before, sink);
        }
    }

    private UnderWay begin(SegmentPass pass, long from, int count, Reduction how) {
        long here = rounds.current();
        rounds.await(Counter.PACKED, here);
        combineHere(pass, here, from, count);
        return new UnderWay(here, from, count, outer.beginAllreduce(carried(here, count, how), how));
    }

    private void finish(UnderWay chunk, Sink sink) {
        outer.await(chunk.crossing());
        rounds.reduced(chunk.round());
        rounds.await(Counter.REDUCED, chunk.round());
        sink.take(chunk.round(), chunk.from(), chunk.count());
    }
}
