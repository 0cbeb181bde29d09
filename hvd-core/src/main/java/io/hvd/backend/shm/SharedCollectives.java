package io.hvd.backend.shm;

import io.hvd.backend.shm.Layout.Counter;
import io.hvd.spi.Activities;
import io.hvd.spi.Collectives;
import io.hvd.spi.OpKind;
import io.hvd.spi.Reduction;
import io.hvd.tensor.Converter;
import io.hvd.tensor.DType;
import io.hvd.tensor.Device;
import io.hvd.tensor.FlatView;
import io.hvd.tensor.Reducer;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;
import java.util.Optional;

/**
 * Allreduce through a segment, in rounds of one stage each; whatever else there is goes the way of the back end
 * beneath.
 *
 * <p>A round of few bytes takes one step: every rank adds up all stages for itself, in the order of the ranks. In a
 * larger one every rank reduces its slice of all stages into the result, from which all take the whole. While the
 * others still reduce a round, a rank packs for the next. All ranks get the same bits.
 *
 * <p>There are two stages and two results, for even and odd rounds. A rank packs for round n + 2 when all have packed
 * for round n + 1, which each does when it has done with round n.
 */
final class SharedCollectives implements Collectives {
    /** Up to here one more wait costs more than adding up everything oneself. */
    private static final int ONE_STEP_BYTES = 8192;

    private final Segment segment;
    private final Collectives beneath;
    private final Patience patience;
    private final Converter converter = new Converter();
    private final Reducer reducer = new Reducer();
    private final ByteBuffer own = ByteBuffer.allocateDirect(ONE_STEP_BYTES).order(ByteOrder.nativeOrder());
    private Activities activities = Activities.UNHEARD;
    /** Rounds begun so far. */
    private long round;

    /** @param beneath of the same ranks */
    SharedCollectives(Segment segment, Collectives beneath, Patience patience) {
        this.segment = segment;
        this.beneath = beneath;
        this.patience = patience;
    }

    @Override
    public void report(Activities to) {
        activities = to;
        beneath.report(to);
    }

    @Override
    public void allreduce(List<Tensor> inputs, List<Tensor> outputs, Reduction how) {
        allreduceUnlessVetoed(inputs, outputs, how);
    }

    @Override
    public boolean takesVetoes(Device device) {
        return device.isCpu();
    }

    @Override
    public boolean takesAnyThread(Device device) {
        return device.isCpu();
    }

    @Override
    public boolean allreduceUnlessVetoed(List<Tensor> inputs, List<Tensor> outputs, Reduction how) {
        FlatView source = new FlatView(inputs, how.wire(), converter);
        FlatView target = new FlatView(outputs, how.wire(), converter);
        return source.elements() * how.wire().bytes() <= ONE_STEP_BYTES
                ? inOneStep(source, target, how)
                : inRounds(source, target, how);
    }

    @Override
    public void vetoAllreduce(Device device, long elements, Reduction how) {
        round++;
        segment.publish(Counter.VETOED, round);
        segment.publish(Counter.PACKED, round);
        segment.await(Counter.PACKED, round, patience);
    }

    private boolean inOneStep(FlatView source, FlatView target, Reduction how) {
        int count = (int) source.elements();
        pack(source, 0, count, how);
        if (!allHavePacked()) {
            return false;
        }
        long begun = activities.begin();
        reducer.reduce(how.op(), how.wire(), segment.stages(round), 0, count, own);
        activities.end("SHM_ALLREDUCE", begun);
        unpack(target, 0, count, own, how);
        return true;
    }

    /** The first round is asked about by itself: nothing may have been written if somebody vetoes. */
    private boolean inRounds(FlatView source, FlatView target, Reduction how) {
        int chunk = segment.stageBytes() / how.wire().bytes();
        long elements = source.elements();
        pack(source, 0, (int) Math.min(chunk, elements), how);
        if (!allHavePacked()) {
            return false;
        }
        for (long from = 0; from < elements; from += chunk) {
            int count = (int) Math.min(chunk, elements - from);
            long ready = round;
            reduceOwnSlice(ready, count, how);
            int next = (int) Math.min(chunk, elements - from - count);
            if (next > 0) {
                pack(source, from + count, next, how);
            }
            await(Counter.REDUCED, ready);
            unpack(target, from, count, segment.result(ready), how);
            if (next > 0) {
                await(Counter.PACKED, round);
            }
        }
        return true;
    }

    private void pack(FlatView source, long from, int count, Reduction how) {
        round++;
        long begun = activities.begin();
        source.pack(from, count, segment.stage(round), how.prescale());
        activities.end(Activities.COPY_IN, begun);
        segment.publish(Counter.PACKED, round);
    }

    private boolean allHavePacked() {
        await(Counter.PACKED, round);
        return !segment.isVetoed(round);
    }

    private void await(Counter counter, long of) {
        long begun = activities.begin();
        segment.await(counter, of, patience);
        activities.end("WAIT_FOR_OTHER_TENSOR_DATA", begun);
    }

    private void reduceOwnSlice(long of, int count, Reduction how) {
        long begun = activities.begin();
        int first = (int) ((long) count * segment.rank() / segment.ranks());
        int last = (int) ((long) count * (segment.rank() + 1) / segment.ranks());
        reducer.reduce(how.op(), how.wire(), segment.stages(of), first, last - first, segment.result(of));
        activities.end("SHM_ALLREDUCE", begun);
        segment.publish(Counter.REDUCED, of);
    }

    private void unpack(FlatView target, long from, int count, ByteBuffer result, Reduction how) {
        long begun = activities.begin();
        target.unpack(from, count, result, how.postscale());
        activities.end(Activities.COPY_OUT, begun);
    }

    @Override
    public boolean reaches(Device device) {
        return beneath.reaches(device);
    }

    @Override
    public Optional<String> refuses(OpKind kind, Device device, DType dtype, Reduction how) {
        boolean ours = kind == OpKind.ALLREDUCE && device.isCpu();
        return ours ? Optional.empty() : beneath.refuses(kind, device, dtype, how);
    }

    @Override
    public Tensor output(Device device, DType dtype, Shape shape) {
        return beneath.output(device, dtype, shape);
    }

    @Override
    public Completion completion() {
        return beneath.completion();
    }

    @Override
    public void allgather(Tensor input, Tensor output, long[] elements) {
        beneath.allgather(input, output, elements);
    }

    @Override
    public void broadcast(List<Tensor> inputs, List<Tensor> outputs, int root) {
        beneath.broadcast(inputs, outputs, root);
    }

    @Override
    public void alltoall(Tensor input, Tensor output, long[] sent, long[] received, long longest) {
        beneath.alltoall(input, output, sent, received, longest);
    }

    @Override
    public void reduceScatter(Tensor input, Tensor output, long[] elements, Reduction how) {
        beneath.reduceScatter(input, output, elements, how);
    }

    @Override
    public void reduce(Tensor input, Tensor output, Reduction how, int root) {
        beneath.reduce(input, output, how, root);
    }

    @Override
    public void gather(Tensor input, Tensor output, long[] elements, int root) {
        beneath.gather(input, output, elements, root);
    }

    @Override
    public void scatter(Tensor input, Tensor output, long[] elements, int root) {
        beneath.scatter(input, output, elements, root);
    }

    @Override
    public void send(Tensor tensor, int to) {
        beneath.send(tensor, to);
    }

    @Override
    public void receive(Tensor tensor, int from) {
        beneath.receive(tensor, from);
    }

    @Override
    public void close() {
        beneath.close();
    }

    @Override
    public void abandon() {
        beneath.abandon();
    }
}
