package io.hvd.collective;

import io.hvd.kernel.Converter;
import io.hvd.kernel.FlatView;
import io.hvd.kernel.ReduceKernel;
import io.hvd.kernel.Reducer;
import io.hvd.kernel.Scale;
import io.hvd.spi.Activities;
import io.hvd.spi.BegunCollectives;
import io.hvd.spi.ByteCollectives;
import io.hvd.spi.HostDataPlane;
import io.hvd.spi.Pieces;
import io.hvd.spi.Reduction;
import io.hvd.spi.Transfers;
import io.hvd.spi.Transport;
import io.hvd.tensor.BufferMemory;
import io.hvd.tensor.Device;
import io.hvd.tensor.Tensor;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Optional;

/**
 * Collectives over one communicator. Host tensors stream through a staging buffer that stays in cache; a single direct
 * buffer that needs neither scaling nor conversion is reduced in place. Large allreduces between hosts use hvd's own
 * ring.
 */
public final class TransportCollectives extends HostDataPlane implements BegunCollectives {
    /** The number of elements to give where several collectives are begun, which together have more than a chunk. */
    private static final long PART_OF_MUCH = Integer.MAX_VALUE;

    /** The first tag of the collectives on bytes, where the transport has none of its own. */
    private static final int BYTES_TAG = 0;

    /**
     * The first tag of all exchanges. An exchange has started all its messages when it has begun, and between two ranks one
     * tag's messages arrive in order, so the messages of two exchanges are not mixed up.
     */
    private static final int EXCHANGE_TAG = BYTES_TAG + RingPosition.TAGS;
    /**
     * The first tag of the broadcasts that are begun. A message that is passed on may overtake those that were started before
     * it, so each broadcast has tags of its own, after those of the ring.
     */
    private static final int FIRST_BROADCAST_TAG = 8192;
    /** The number of broadcasts that have tags of their own, more than are ever under way. */
    private static final int BROADCASTS = (Transfers.TAGS - FIRST_BROADCAST_TAG) / RingPosition.TAGS;

    private final Transport.Group group;
    private final Transfers transfers;
    private final ByteCollectives bytes;
    private final Stage stage;
    private final StageReduction reduction;
    private final Movement movement;
    private final PipelinedMovement piped;
    private final StagedAllreduce staged;
    private final AllreduceChoice choice;
    private final RingAllreduce ring;
    private final Converter converter = new Converter();
    private final BegunCollectives atOnce = BegunCollectives.atOnce(this);
    private long broadcasts;

    /**
     * @param stageBytes length of the stage through which tensors stream
     * @param kernel adds what it can
     */
    public TransportCollectives(
            Transport.Group group,
            int rank,
            int size,
            NetworkWait wait,
            int stageBytes,
            AllreduceChoice choice,
            ReduceKernel kernel) {
        this.group = group;
        this.transfers = group.transfers();
        this.stage = new Stage(rank, size, stageBytes);
        this.choice = choice;
        this.bytes = group.collectives().orElseGet(() -> new ExchangedBytes(position(BYTES_TAG), wait));
        Reducer reducer = Reducer.of(kernel);
        this.ring = new RingAllreduce(transfers, wait, rank, size, stageBytes, reducer);
        this.reduction = new StageReduction(bytes, stage, reducer);
        this.movement = new Movement(bytes, stage, converter);
        this.piped = new PipelinedMovement(stage, position(EXCHANGE_TAG), wait, reduction, converter);
        this.staged = new StagedAllreduce(stage, reduction, converter);
    }

    @Override
    public void report(Activities to) {
        stage.activities = to;
        bytes.report(to);
        ring.report(to);
    }

    @Override
    public void allreduce(List<Tensor> inputs, List<Tensor> outputs, Reduction how) {
        Optional<ByteBuffer> plain = plain(inputs, outputs, how);
        long elements = elements(inputs);
        if (usesRing(elements, how)) {
            ring.run(data(inputs, outputs, how), elements, how);
        } else if (plain.isPresent() && reduction.isNative(how)) {
            staged.runInPlace(plain.get(), elements, how);
        } else {
            staged.run(inputs, outputs, how);
        }
    }

    @Override
    public Completion beginAllreduce(Tensor tensor, Reduction how) {
        List<Tensor> only = List.of(tensor);
        Optional<ByteBuffer> plain = plain(only, only, how);
        if (plain.isPresent() && usesRing(PART_OF_MUCH, how)) {
            return ring.begin(plain.get(), Math.toIntExact(tensor.elements()), how);
        }
        return atOnce.beginAllreduce(tensor, how);
    }

    @Override
    public Completion beginBroadcast(Tensor tensor, int root) {
        if (tensor.bytes() <= Relay.TREE_BYTES) {
            return atOnce.beginBroadcast(tensor, root);
        }
        int tag = FIRST_BROADCAST_TAG + RingPosition.TAGS * (int) (broadcasts++ % BROADCASTS);
        return new RelayedBroadcast(position(tag), buffer(tensor), root);
    }

    @Override
    public Completion beginAllgather(Tensor input, Tensor output, long[] elements) {
        Pieces pieces = Pieces.oneBehindTheOther(elements);
        return new Exchange(position(EXCHANGE_TAG), to -> buffer(input), from -> piece(output, pieces, from));
    }

    @Override
    public Completion beginAlltoall(Tensor input, Tensor output, long[] sent, long[] received, long longest) {
        Pieces outgoing = Pieces.oneBehindTheOther(sent);
        Pieces incoming = Pieces.oneBehindTheOther(received);
        piece(output, incoming, stage.rank).put(piece(input, outgoing, stage.rank));
        return new Exchange(
                position(EXCHANGE_TAG), to -> piece(input, outgoing, to), from -> piece(output, incoming, from));
    }

    private RingPosition position(int tag) {
        return new RingPosition(transfers, stage.rank, stage.size, tag);
    }

    private static ByteBuffer piece(Tensor tensor, Pieces pieces, int rank) {
        int bytes = tensor.dtype().bytes();
        int first = Math.toIntExact(pieces.starts()[rank] * bytes);
        return Blocks.part(buffer(tensor), first, Math.toIntExact(pieces.counts()[rank] * bytes));
    }

    private static ByteBuffer buffer(Tensor tensor) {
        return ((BufferMemory) tensor.memory()).buffer();
    }

    @Override
    public BegunCollectives begun() {
        return this;
    }

    @Override
    public Levels levels() {
        return Levels.none("no ranks share memory");
    }

    /** Always false, because only one thread uses a transport. */
    @Override
    public boolean takesAnyThread(Device device) {
        return false;
    }

    @Override
    public boolean takesVetoes(Device device) {
        return device.isCpu();
    }

    @Override
    public boolean allreduceUnlessVetoed(List<Tensor> inputs, List<Tensor> outputs, Reduction how) {
        long elements = elements(inputs);
        return usesRing(elements, how)
                ? ring.runUnlessVetoed(packed(inputs, outputs, how), data(inputs, outputs, how), elements, how)
                : staged.runUnlessVetoed(inputs, outputs, how);
    }

    @Override
    public void vetoAllreduce(Device device, long elements, Reduction how) {
        if (usesRing(elements, how)) {
            ring.veto(elements, how);
        } else {
            staged.veto(elements, how);
        }
    }

    private boolean usesRing(long elements, Reduction how) {
        long bytes = elements * how.wire().bytes();
        return choice.usesRing(stage.size, bytes);
    }

    /** In place if it can be, and otherwise packed. */
    private AllreduceData data(List<Tensor> inputs, List<Tensor> outputs, Reduction how) {
        return plain(inputs, outputs, how)
                .<AllreduceData>map(
                        buffer -> new AllreduceData.InPlace(buffer, how.wire().bytes()))
                .orElseGet(() -> packed(inputs, outputs, how));
    }

    private AllreduceData packed(List<Tensor> inputs, List<Tensor> outputs, Reduction how) {
        FlatView source = new FlatView(inputs, how.wire(), converter);
        return ring.packed(source, source.of(outputs), how);
    }

    private static long elements(List<Tensor> tensors) {
        long all = 0;
        for (Tensor tensor : tensors) {
            all += tensor.elements();
        }
        return all;
    }

    /**
     * The only tensor's direct buffer if it travels unchanged, so that it can be reduced in place; empty for anything
     * else.
     */
    private static Optional<ByteBuffer> plain(List<Tensor> inputs, List<Tensor> outputs, Reduction how) {
        Tensor only = inputs.get(0);
        boolean plain = inputs.size() == 1
                && outputs.get(0) == only
                && only.dtype() == how.wire()
                && how.prescale() == 1.0
                && how.scale().isOne()
                && only.memory() instanceof BufferMemory;
        return plain ? Optional.of(((BufferMemory) only.memory()).buffer()) : Optional.empty();
    }

    private void copyIn(FlatView source, long from, int count) {
        stage.copy(Activities.COPY_IN, () -> source.pack(from, count, stage.front(), 1));
    }

    private void copyOut(FlatView target, long from, int count) {
        stage.copy(Activities.COPY_OUT, () -> target.unpack(from, count, stage.front(), Scale.ONE));
    }

    @Override
    public void broadcast(List<Tensor> inputs, List<Tensor> outputs, int root) {
        var type = inputs.get(0).dtype();
        FlatView source = new FlatView(inputs, type, converter);
        FlatView target = source.of(outputs);
        int chunk = stage.chunk(type);
        for (long from = 0; from < source.elements(); from += chunk) {
            int count = (int) Math.min(chunk, source.elements() - from);
            if (stage.rank == root) {
                copyIn(source, from, count);
            }
            bytes.broadcast(stage.front(), count * type.bytes(), root);
            copyOut(target, from, count);
        }
    }

    @Override
    public void reduceScatter(Tensor input, Tensor output, long[] elements, Reduction how) {
        Pieces pieces = Pieces.oneBehindTheOther(elements);
        if (stage.holds(pieces.longest(), how.wire())) {
            reduceScatterAtOnce(input, output, pieces, how);
        } else {
            piped.reduceScatter(input, output, elements, how);
        }
    }

    private void reduceScatterAtOnce(Tensor input, Tensor output, Pieces pieces, Reduction how) {
        int slice = (int) pieces.longest();
        int bytes = how.wire().bytes();
        long begun = stage.activities.begin();
        for (int to = 0; to < stage.size; to++) {
            int count = (int) pieces.counts()[to];
            if (count > 0) {
                int at = to * slice * bytes;
                converter.pack(input, pieces.starts()[to], count, stage.front(), at, how.wire(), how.prescale());
            }
        }
        stage.activities.end(Activities.COPY_IN, begun);
        reduction.reduceOwnSlice(slice, how);
        int mine = (int) pieces.counts()[stage.rank];
        if (mine > 0) {
            unpackOne(output, 0, mine, how);
        }
    }

    @Override
    public void reduce(Tensor input, Tensor output, Reduction how, int root) {
        int share = stage.share(how.wire());
        for (long from = 0; from < input.elements(); from += share) {
            int count = (int) Math.min(share, input.elements() - from);
            packOne(input, from, count, how);
            reduction.reduceTo(root, count, how);
            if (stage.rank == root) {
                unpackOne(output, from, count, how);
            }
        }
    }

    private void packOne(Tensor input, long from, int count, Reduction how) {
        stage.copy(
                Activities.COPY_IN,
                () -> converter.pack(input, from, count, stage.front(), 0, how.wire(), how.prescale()));
    }

    private void unpackOne(Tensor output, long from, int count, Reduction how) {
        stage.copy(
                Activities.COPY_OUT,
                () -> converter.unpack(stage.front(), 0, how.wire(), output, from, count, how.scale()));
    }

    @Override
    public void allgather(Tensor input, Tensor output, long[] elements) {
        // If each rank sent to each, data that all ranks of a host need would come to the host once for each of them.
        boolean sharesHost = choice.hosts() < stage.size;
        if (sharesHost || stage.holds(Pieces.oneBehindTheOther(elements).longest(), input.dtype())) {
            movement.allgather(input, output, elements);
        } else {
            piped.allgather(input, output, elements);
        }
    }

    @Override
    public void alltoall(Tensor input, Tensor output, long[] sent, long[] received, long longest) {
        if (stage.holds(longest, input.dtype())) {
            movement.alltoall(input, output, sent, received);
        } else {
            piped.alltoall(input, output, sent, received, longest);
        }
    }

    @Override
    public void gather(Tensor input, Tensor output, long[] elements, int root) {
        movement.gather(input, output, elements, root);
    }

    @Override
    public void scatter(Tensor input, Tensor output, long[] elements, int root) {
        movement.scatter(input, output, elements, root);
    }

    @Override
    public void send(Tensor tensor, int to) {
        movement.send(tensor, to);
    }

    @Override
    public void receive(Tensor tensor, int from) {
        movement.receive(tensor, from);
    }

    @Override
    public void close() {
        group.close();
    }

    /** Does nothing: the transport itself is abandoned. */
    @Override
    public void abandon() {
        // There is no work outside the calls themselves for which a thread would wait.
    }
}
