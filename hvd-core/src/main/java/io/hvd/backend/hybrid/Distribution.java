package io.hvd.backend.hybrid;

import io.hvd.backend.local.LocalHub;
import io.hvd.spi.Collectives;
import io.hvd.spi.Reduction;
import io.hvd.tensor.Converter;
import io.hvd.tensor.DType;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Reducer;
import io.hvd.tensor.Scale;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.LongStream;

/**
 * The collectives that give out pieces of tensors, for threads of several processes. The threads show each other their
 * tensors, the leader assembles what goes to the other processes, and each thread copies its own part of what arrives.
 * Between the first and the last meeting of a call, the shown tensors stay as they are, and only the leader adds to
 * them.
 */
final class Distribution {
    private static final int LEADER = 0;
    private static final Reduction MOST = new Reduction(ReduceOp.MAX, DType.INT64, 1, 1);

    private final RowLayout layout;
    private final int place;
    private final LocalHub hub;
    private final Collectives across;
    private final int row;
    /** Numbers within the set: of the first member in this process, and of this member. */
    private final int first;

    private final int self;
    private final int here;
    private final Converter converter = new Converter();
    private final Reducer reducer = new Reducer();

    /** The parameters are those of {@link HybridCollectives}. */
    Distribution(RowLayout layout, int place, LocalHub hub, Collectives across) {
        this.layout = layout;
        this.place = place;
        this.hub = hub;
        this.across = across;
        this.row = layout.row();
        this.first = layout.first(row);
        this.self = first + place;
        this.here = layout.length(row);
    }

    void broadcast(List<Tensor> inputs, List<Tensor> outputs, int root) {
        hub.batches().set(place, inputs);
        meet();
        led(outputs, () -> across.broadcast(rootIsHere(root) ? batchOf(root) : inputs, outputs, layout.rowOf(root)));
        if (place != LEADER) {
            List<Tensor> theirs = hub.batches().get(LEADER);
            for (int i = 0; i < theirs.size(); i++) {
                copyUnlessSame(theirs.get(i), outputs.get(i), self == root ? inputs.get(i) : null);
            }
        }
        meet();
    }

    /** The root's own tensor has the elements already. */
    private void copyUnlessSame(Tensor from, Tensor to, Tensor original) {
        if (to != original) {
            converter.copy(from, 0, to, 0, from.elements());
        }
    }

    void allgather(Tensor input, Tensor output, long[] elements) {
        show(input);
        led(List.of(output), () -> across.allgather(joined(input.dtype(), elements), output, layout.sums(elements)));
        if (place != LEADER) {
            Tensor theirs = hub.batches().get(LEADER).get(0);
            converter.copy(theirs, 0, output, 0, theirs.elements());
        }
        meet();
    }

    void gather(Tensor input, Tensor output, long[] elements, int root) {
        hub.batches().set(place, output == null ? List.of() : List.of(output));
        show(input);
        if (place == LEADER) {
            Tensor collected = rootIsHere(root) ? batchOf(root).get(0) : null;
            across.gather(joined(input.dtype(), elements), collected, layout.sums(elements), layout.rowOf(root));
        }
        meet();
    }

    void scatter(Tensor input, Tensor output, long[] elements, int root) {
        show(input);
        long[] sums = layout.sums(elements);
        takeOwn(output, elements, () -> {
            Tensor ours = zeros(output.dtype(), sums[row]);
            across.scatter(rootIsHere(root) ? shownBy(root) : null, ours, sums, layout.rowOf(root));
            return ours;
        });
    }

    void reduceScatter(Tensor input, Tensor output, long[] elements, Reduction how) {
        Tensor sum = reducedHere(input, how);
        long[] sums = layout.sums(elements);
        Tensor mine = zeros(how.wire(), elements[self]);
        takeOwn(mine, elements, () -> {
            Tensor ours = zeros(how.wire(), sums[row]);
            across.reduceScatter(sum, ours, sums, how.unscaled());
            return ours;
        });
        scale(mine, output, how);
    }

    void reduce(Tensor input, Tensor output, Reduction how, int root) {
        Tensor sum = reducedHere(input, how);
        led(List.of(sum), () -> {
            Tensor total = rootIsHere(root) ? sum : null;
            across.reduce(sum, total, how.unscaled(), layout.rowOf(root));
        });
        if (self == root) {
            scale(sum, output, how);
        }
        meet();
    }

    /**
     * Does an alltoall. Each rank shows how many elements it sends to all ranks and then how many it gets from them.
     */
    void alltoall(Tensor input, Tensor output, long[] sent, long[] received) {
        long[] both = new long[2 * sent.length];
        System.arraycopy(sent, 0, both, 0, sent.length);
        System.arraycopy(received, 0, both, sent.length, received.length);
        hub.counts().set(place, both);
        show(input);
        led(null, () -> {
            long[] out = sumsHere(0);
            long[] in = sumsHere(sent.length);
            Tensor incoming = zeros(input.dtype(), RowLayout.sum(in, 0, in.length));
            across.alltoall(outgoing(input.dtype(), out), incoming, out, in, longestOfAll(out));
            hub.batches().set(LEADER, List.of(incoming));
        });
        takePieces(hub.batches().get(LEADER).get(0), output, sent.length);
        meet();
    }

    /**
     * The largest number of elements that any process sends to another one.
     *
     * @param out number of elements that this process sends to each
     */
    private long longestOfAll(long[] out) {
        long[] longest = {LongStream.of(out).max().orElseThrow()};
        List<Tensor> one = List.of(Tensor.of(longest));
        across.allreduce(one, one, MOST);
        return longest[0];
    }

    /**
     * Number of elements that all members in this process send to each row, or get from it.
     *
     * @param from the place at which those counts begin
     */
    private long[] sumsHere(int from) {
        long[] sums = new long[layout.rows().size()];
        for (int other = 0; other < sums.length; other++) {
            int begin = from + layout.first(other);
            for (int member = 0; member < here; member++) {
                sums[other] += RowLayout.sum(hub.counts().get(member), begin, begin + layout.length(other));
            }
        }
        return sums;
    }

    /** The elements for the other processes, row by row, and for each row member by member of this process. */
    private Tensor outgoing(DType type, long[] out) {
        Tensor outgoing = zeros(type, RowLayout.sum(out, 0, out.length));
        long at = 0;
        for (int other = 0; other < out.length; other++) {
            int begin = layout.first(other);
            for (int member = 0; member < here; member++) {
                long[] sent = hub.counts().get(member);
                long count = RowLayout.sum(sent, begin, begin + layout.length(other));
                converter.copy(hub.posted().get(member), RowLayout.sum(sent, 0, begin), outgoing, at, count);
                at += count;
            }
        }
        return outgoing;
    }

    /**
     * Copies this member's pieces from the data that has arrived, which is ordered by sender, for all members of this
     * process.
     */
    private void takePieces(Tensor incoming, Tensor output, int members) {
        long at = 0;
        long to = 0;
        for (int sender = 0; sender < members; sender++) {
            for (int member = 0; member < here; member++) {
                long count = hub.counts().get(member)[members + sender];
                if (member == place) {
                    converter.copy(incoming, at, output, to, count);
                    to += count;
                }
                at += count;
            }
        }
    }

    /**
     * The leader receives the data of all members in this process, one behind the other; each member copies its own.
     */
    private void takeOwn(Tensor output, long[] elements, Source source) {
        if (place == LEADER) {
            hub.batches().set(LEADER, List.of(source.get()));
        }
        meet();
        long at = RowLayout.sum(elements, first, self);
        converter.copy(hub.batches().get(LEADER).get(0), at, output, 0, elements[self]);
        meet();
    }

    private interface Source {
        Tensor get();
    }

    /**
     * The sum over the members in this process, in the wire type: one tensor that all of them see, and of which each
     * has reduced a part.
     */
    private Tensor reducedHere(Tensor input, Reduction how) {
        show(input);
        if (place == LEADER) {
            hub.batches().set(LEADER, List.of(zeros(how.wire(), input.elements())));
        }
        meet();
        Tensor sum = hub.batches().get(LEADER).get(0);
        long from = input.elements() * place / here;
        long to = input.elements() * (place + 1) / here;
        int piece = Math.max(1, hub.stageBytes() / how.wire().bytes() / here);
        for (long at = from; at < to; at += piece) {
            reducePiece(at, (int) Math.min(piece, to - at), sum, how);
        }
        meet();
        return sum;
    }

    private void reducePiece(long from, int count, Tensor sum, Reduction how) {
        ByteBuffer stage = hub.stages().get(place);
        int bytes = count * how.wire().bytes();
        List<ByteBuffer> parts = new ArrayList<>(here);
        for (int member = 0; member < here; member++) {
            ByteBuffer part = stage.slice(member * bytes, bytes).order(stage.order());
            converter.pack(hub.posted().get(member), from, count, part, 0, how.wire(), how.prescale());
            parts.add(part);
        }
        reducer.reduce(how.op(), how.wire(), parts, 0, count, parts.get(0));
        converter.unpack(parts.get(0), 0, how.wire(), sum, from, count, Scale.ONE);
    }

    /** Converts a result from the wire type to the output's type and scales it. */
    private void scale(Tensor reduced, Tensor output, Reduction how) {
        ByteBuffer stage = hub.stages().get(place);
        int piece = stage.capacity() / how.wire().bytes();
        for (long from = 0; from < output.elements(); from += piece) {
            int count = (int) Math.min(piece, output.elements() - from);
            converter.pack(reduced, from, count, stage, 0, how.wire(), 1);
            converter.unpack(stage, 0, how.wire(), output, from, count, how.scale());
        }
    }

    /** The inputs of the members in this process, one behind the other; a single input is not copied. */
    private Tensor joined(DType type, long[] elements) {
        if (here == 1) {
            return hub.posted().get(LEADER);
        }
        Tensor joined = zeros(type, layout.sums(elements)[row]);
        long at = 0;
        for (int member = 0; member < here; member++) {
            converter.copy(hub.posted().get(member), 0, joined, at, elements[first + member]);
            at += elements[first + member];
        }
        return joined;
    }

    private boolean rootIsHere(int root) {
        return layout.rowOf(root) == row;
    }

    private Tensor shownBy(int member) {
        return hub.posted().get(member - first);
    }

    private List<Tensor> batchOf(int member) {
        return hub.batches().get(member - first);
    }

    /** Shows a tensor, which all members in this process can read until the last meeting of the call. */
    private void show(Tensor tensor) {
        hub.posted().set(place, tensor);
        meet();
    }

    /** The leader does the work for all, and shows its result if there is a new one; the others wait. */
    private void led(List<Tensor> shown, Runnable work) {
        if (place == LEADER) {
            work.run();
            if (shown != null) {
                hub.batches().set(LEADER, shown);
            }
        }
        meet();
    }

    private void meet() {
        hub.rendezvous().meet();
    }

    private static Tensor zeros(DType type, long elements) {
        return Tensor.zeros(type, Shape.of(elements));
    }
}
