package io.hvd.backend.hybrid;

import io.hvd.backend.local.LocalCollectives;
import io.hvd.backend.local.LocalHub;
import io.hvd.spi.Activities;
import io.hvd.spi.BegunCollectives;
import io.hvd.spi.Collectives;
import io.hvd.spi.DataPlane;
import io.hvd.spi.OpKind;
import io.hvd.spi.Reduction;
import io.hvd.spi.VetoableAllreduce;
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
 * Collectives among threads of several processes. The members in one process first combine their data in memory,
 * through the stages of their hub. The first of them, the leader, then does the same once with the leaders of the other
 * processes, and all members copy the result. Elements are added in the order of the ranks within a process, and then
 * in the order of the data plane between the processes.
 */
final class HybridCollectives implements DataPlane {
    private static final int LEADER = 0;

    private final RowLayout layout;
    private final int place;
    private final LocalHub hub;
    private final Collectives across;
    private final VetoableAllreduce votes;
    private final Pairs pairs;
    private final LocalCollectives inside;
    private final Distribution distribution;
    private final Converter converter = new Converter();
    private final Reducer reducer = new Reducer();
    private Activities activities = Activities.UNHEARD;

    /**
     * @param place this rank's among the members of its process
     * @param hub of these members
     * @param across of the processes that have members; may be null on those who do not lead
     * @param votes of the processes; null where no static plan is ever followed
     * @param pairs this rank's
     */
    HybridCollectives(
            RowLayout layout, int place, LocalHub hub, Collectives across, VetoableAllreduce votes, Pairs pairs) {
        this.layout = layout;
        this.place = place;
        this.hub = hub;
        this.across = across;
        this.votes = votes;
        this.pairs = pairs;
        this.inside = new LocalCollectives(hub, place);
        this.distribution = new Distribution(layout, place, hub, across);
    }

    @Override
    public void report(Activities to) {
        activities = to;
        if (leads()) {
            across.report(to);
        }
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
    public Completion completion() {
        return null;
    }

    @Override
    public boolean takesAnyThread(Device device) {
        return false;
    }

    /** No host consists of several of these. */
    @Override
    public BegunCollectives begun() {
        return BegunCollectives.atOnce(this);
    }

    private boolean leads() {
        return place == LEADER;
    }

    @Override
    public boolean takesVetoes(Device device) {
        return device.isCpu() && votes != null && votes.takesVetoes(device);
    }

    @Override
    public void allreduce(List<Tensor> inputs, List<Tensor> outputs, Reduction how) {
        stream(inputs, outputs, how, false);
    }

    @Override
    public boolean allreduceUnlessVetoed(List<Tensor> inputs, List<Tensor> outputs, Reduction how) {
        return stream(inputs, outputs, how, true);
    }

    /** The threads of this process learn of a veto at once, those of the other processes through their leaders. */
    @Override
    public void vetoAllreduce(Device device, long elements, Reduction how) {
        hub.rendezvous().meet(false);
        vetoAcross(Math.min(chunk(how), elements), how);
    }

    /**
     * No rank leaves before all ranks of all processes have come: a rank that knows of the veto begins anew, and its
     * next message is not meant for one that still follows the plan.
     */
    private void vetoAcross(long elements, Reduction how) {
        if (leads()) {
            votes.vetoAllreduce(Device.CPU, elements, how.unscaled());
        }
        hub.rendezvous().meet();
    }

    /** Reduces chunk by chunk; with a ballot, any rank may refuse the first chunk before anything is written. */
    private boolean stream(List<Tensor> inputs, List<Tensor> outputs, Reduction how, boolean ballot) {
        FlatView source = new FlatView(inputs, how.wire(), converter);
        FlatView target = source.of(outputs);
        int chunk = chunk(how);
        boolean asked = !ballot;
        for (long from = 0; from < source.elements() || !asked; from += chunk) {
            int count = (int) Math.min(chunk, source.elements() - from);
            pack(source, from, count, how);
            if (!meet(true)) {
                vetoAcross(count, how);
                return false;
            }
            reduceOwnSlice(count, how);
            hub.rendezvous().meet();
            boolean agreed = !leads() || reducedAcross(count, how, asked);
            if (!meet(agreed)) {
                return false;
            }
            unpack(target, from, count, how);
            asked = true;
        }
        return true;
    }

    private boolean reducedAcross(int count, Reduction how, boolean asked) {
        ByteBuffer result = hub.result();
        ByteBuffer part = result.slice(0, count * how.wire().bytes()).order(ByteOrder.nativeOrder());
        List<Tensor> chunk = List.of(Tensor.wrap(part, how.wire(), Shape.of(count)));
        if (!asked) {
            return votes.allreduceUnlessVetoed(chunk, chunk, how.unscaled());
        }
        across.allreduce(chunk, chunk, how.unscaled());
        return true;
    }

    private void pack(FlatView source, long from, int count, Reduction how) {
        long begun = activities.begin();
        source.pack(from, count, hub.stages().get(place), how.prescale());
        activities.end(Activities.COPY_IN, begun);
    }

    private void unpack(FlatView target, long from, int count, Reduction how) {
        long begun = activities.begin();
        target.unpack(from, count, hub.result(), how.scale());
        activities.end(Activities.COPY_OUT, begun);
    }

    private void reduceOwnSlice(int count, Reduction how) {
        long begun = activities.begin();
        int first = (int) ((long) count * place / hub.size());
        int last = (int) ((long) count * (place + 1) / hub.size());
        reducer.reduce(how.op(), how.wire(), hub.stages(), first, last - first, hub.result());
        activities.end("LOCAL_ALLREDUCE", begun);
    }

    private boolean meet(boolean agree) {
        long begun = activities.begin();
        boolean agreed = hub.rendezvous().meet(agree);
        activities.end(Activities.WAIT_FOR_DATA, begun);
        return agreed;
    }

    private int chunk(Reduction how) {
        return hub.stageBytes() / how.wire().bytes();
    }

    @Override
    public void broadcast(List<Tensor> inputs, List<Tensor> outputs, int root) {
        distribution.broadcast(inputs, outputs, root);
    }

    @Override
    public void allgather(Tensor input, Tensor output, long[] elements) {
        distribution.allgather(input, output, elements);
    }

    @Override
    public void gather(Tensor input, Tensor output, long[] elements, int root) {
        distribution.gather(input, output, elements, root);
    }

    @Override
    public void scatter(Tensor input, Tensor output, long[] elements, int root) {
        distribution.scatter(input, output, elements, root);
    }

    @Override
    public void alltoall(Tensor input, Tensor output, long[] sent, long[] received, long longest) {
        distribution.alltoall(input, output, sent, received);
    }

    @Override
    public void reduceScatter(Tensor input, Tensor output, long[] elements, Reduction how) {
        distribution.reduceScatter(input, output, elements, how);
    }

    @Override
    public void reduce(Tensor input, Tensor output, Reduction how, int root) {
        distribution.reduce(input, output, how, root);
    }

    @Override
    public void send(Tensor tensor, int to) {
        if (layout.rowOf(to) == layout.row()) {
            inside.send(tensor, to - layout.first(layout.row()));
        } else {
            pairs.send(tensor, layout.rankOf(to), hub.stages().get(place));
        }
    }

    @Override
    public void receive(Tensor tensor, int from) {
        if (layout.rowOf(from) == layout.row()) {
            inside.receive(tensor, from - layout.first(layout.row()));
        } else {
            pairs.receive(tensor, layout.rankOf(from), hub.stages().get(place));
        }
    }

    @Override
    public void abandon() {
        if (leads()) {
            across.abandon();
        }
    }

    @Override
    public void close() {
        if (leads()) {
            across.close();
        }
    }
}
