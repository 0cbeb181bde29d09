package io.hvd.backend.local;

import io.hvd.spi.Activities;
import io.hvd.spi.BegunCollectives;
import io.hvd.spi.DataPlane;
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
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/**
 * Collectives among threads. An allreduce goes chunk by chunk: each rank packs into its own stage, reduces its slice of
 * the stages of all ranks, and unpacks the whole result. A slice has one owner, which adds in rank order, so all ranks
 * get the same bits. In the other collectives the ranks show their tensors to each other and copy what belongs to them.
 */
public final class LocalCollectives implements DataPlane {
    private final LocalHub hub;
    private final int rank;
    private final int size;
    private final Converter converter = new Converter();
    private final Reducer reducer = new Reducer();
    private Activities activities = Activities.UNHEARD;

    /** @param rank this rank's number within the hub */
    public LocalCollectives(LocalHub hub, int rank) {
        this.hub = hub;
        this.rank = rank;
        this.size = hub.size();
    }

    @Override
    public void report(Activities to) {
        activities = to;
    }

    @Override
    public void allreduce(List<Tensor> inputs, List<Tensor> outputs, Reduction how) {
        allreduceUnlessVetoed(inputs, outputs, how);
    }

    @Override
    public Optional<String> refuses(OpKind kind, Device device, DType dtype, Reduction how) {
        return DataPlane.onlyOnHost(device);
    }

    @Override
    public Tensor output(Device device, DType dtype, Shape shape) {
        return Tensor.zeros(dtype, shape);
    }

    @Override
    public BegunCollectives begun() {
        return BegunCollectives.atOnce(this);
    }

    @Override
    public Completion completion() {
        return null;
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
        FlatView target = source.of(outputs);
        ByteBuffer stage = hub.stages().get(rank);
        int chunk = stage.capacity() / how.wire().bytes();
        // The ranks meet once even without elements, so that they learn of a veto.
        long from = 0;
        do {
            int count = (int) Math.min(chunk, source.elements() - from);
            long packing = activities.begin();
            source.pack(from, count, stage, how.prescale());
            activities.end(Activities.COPY_IN, packing);
            if (!meet(true)) {
                return false;
            }
            long reducing = activities.begin();
            int first = (int) ((long) count * rank / size);
            int last = (int) ((long) count * (rank + 1) / size);
            reducer.reduce(how.op(), how.wire(), hub.stages(), first, last - first, hub.result());
            hub.rendezvous().meet();
            activities.end("LOCAL_ALLREDUCE", reducing);
            long unpacking = activities.begin();
            target.unpack(from, count, hub.result(), how.scale());
            activities.end(Activities.COPY_OUT, unpacking);
            from += chunk;
        } while (from < source.elements());
        return true;
    }

    @Override
    public void vetoAllreduce(Device device, long elements, Reduction how) {
        hub.rendezvous().meet(false);
    }

    @Override
    public void allgather(Tensor input, Tensor output, long[] elements) {
        show(input);
        collect(output, elements);
        hub.rendezvous().meet();
    }

    @Override
    public void broadcast(List<Tensor> inputs, List<Tensor> outputs, int root) {
        for (int i = 0; i < inputs.size(); i++) {
            show(inputs.get(i));
            Tensor source = hub.posted().get(root);
            if (source != outputs.get(i)) {
                converter.copy(source, 0, outputs.get(i), 0, source.elements());
            }
            hub.rendezvous().meet();
        }
    }

    @Override
    public void alltoall(Tensor input, Tensor output, long[] sent, long[] received, long longest) {
        hub.counts().set(rank, sent);
        show(input);
        long at = 0;
        for (int from = 0; from < size; from++) {
            long first = Arrays.stream(hub.counts().get(from), 0, rank).sum();
            converter.copy(hub.posted().get(from), first, output, at, received[from]);
            at += received[from];
        }
        hub.rendezvous().meet();
    }

    @Override
    public void reduceScatter(Tensor input, Tensor output, long[] elements, Reduction how) {
        show(input);
        reduceShown(Arrays.stream(elements, 0, rank).sum(), elements[rank], output, how);
        hub.rendezvous().meet();
    }

    @Override
    public void reduce(Tensor input, Tensor output, Reduction how, int root) {
        show(input);
        if (rank == root) {
            reduceShown(0, input.elements(), output, how);
        }
        hub.rendezvous().meet();
    }

    @Override
    public void gather(Tensor input, Tensor output, long[] elements, int root) {
        show(input);
        if (rank == root) {
            collect(output, elements);
        }
        hub.rendezvous().meet();
    }

    @Override
    public void scatter(Tensor input, Tensor output, long[] elements, int root) {
        show(input);
        long first = Arrays.stream(elements, 0, rank).sum();
        converter.copy(hub.posted().get(root), first, output, 0, elements[rank]);
        hub.rendezvous().meet();
    }

    @Override
    public void send(Tensor tensor, int to) {
        LocalHub.Crossing crossing = hub.crossing(rank, to);
        crossing.tensor = tensor;
        crossing.meeting.meet();
        crossing.meeting.meet();
    }

    @Override
    public void receive(Tensor tensor, int from) {
        LocalHub.Crossing crossing = hub.crossing(from, rank);
        crossing.meeting.meet();
        converter.copy(crossing.tensor, 0, tensor, 0, tensor.elements());
        crossing.meeting.meet();
    }

    /** Shows a tensor; every rank can read the tensors of all ranks until the next meeting. */
    private void show(Tensor tensor) {
        hub.posted().set(rank, tensor);
        meet(true);
    }

    private boolean meet(boolean agree) {
        long begun = activities.begin();
        boolean agreed = hub.rendezvous().meet(agree);
        activities.end(Activities.WAIT_FOR_DATA, begun);
        return agreed;
    }

    private void collect(Tensor output, long[] elements) {
        long at = 0;
        for (int from = 0; from < size; from++) {
            converter.copy(hub.posted().get(from), 0, output, at, elements[from]);
            at += elements[from];
        }
    }

    /**
     * Reduces a part of all shown tensors into the start of the output, through scratch pieces of this rank's stage.
     */
    private void reduceShown(long first, long elements, Tensor output, Reduction how) {
        ByteBuffer stage = hub.stages().get(rank);
        int bytes = how.wire().bytes();
        int piece = Math.max(1, stage.capacity() / bytes / size);
        for (long from = 0; from < elements; from += piece) {
            int count = (int) Math.min(piece, elements - from);
            List<ByteBuffer> parts = new ArrayList<>(size);
            for (int i = 0; i < size; i++) {
                ByteBuffer part = stage.slice(i * piece * bytes, piece * bytes).order(stage.order());
                converter.pack(hub.posted().get(i), first + from, count, part, 0, how.wire(), how.prescale());
                parts.add(part);
            }
            reducer.reduce(how.op(), how.wire(), parts, 0, count, parts.get(0));
            converter.unpack(parts.get(0), 0, how.wire(), output, from, count, how.scale());
        }
    }

    /** The hub releases the waiting threads when a rank is lost. */
    @Override
    public void abandon() {
        // No work goes on after a call has returned.
    }

    @Override
    public void close() {
        // There is nothing to release but memory.
    }
}
