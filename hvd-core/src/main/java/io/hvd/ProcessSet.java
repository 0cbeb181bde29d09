package io.hvd;

import io.hvd.config.RankFacts;
import io.hvd.engine.Request;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.job.Membership;
import io.hvd.spi.OpKind;
import io.hvd.tensor.JoinDivisor;
import io.hvd.tensor.Tensor;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Some of a job's ranks and the collectives among them. {@link HvdContext} is the set of all ranks;
 * others come from {@link InitOptions} and {@link HvdContext#addProcessSet}. Any thread may use it.
 *
 * <p>Operations are matched over the ranks by their name, so the ranks may submit them in any order;
 * the same name in two sets is two operations. If the ranks ask for different things under one name,
 * that operation fails on all of them with a {@link io.hvd.error.RankMismatchException} and the set
 * stays usable. Without a name ({@code null}) the operations of a kind are counted on each rank, so
 * the ranks must then call them in the same order.
 *
 * <p>Roots and peers are global ranks, also inside a set. A rank that is no member gets an error from
 * every collective, before anything travels.
 */
public class ProcessSet {
    /**
     * The name of all joins. A rank joins once at a time, and how often it has done other things before differs between
     * ranks.
     */
    private static final String JOIN = "join.noname";

    private final Membership membership;
    private final int id;
    private final List<Integer> ranks;
    private final int globalRank;
    private final CollectiveCalls calls;
    private final CallArguments arguments;
    private final ReductionCalls reductions;
    private final MovementCalls movements;
    private volatile boolean parametersBroadcast;

    ProcessSet(Membership membership, int id, List<Integer> ranks) {
        this.membership = membership;
        this.id = id;
        this.ranks = List.copyOf(ranks);
        this.globalRank = membership.topology().rank();
        this.calls = new CollectiveCalls(membership, id, this.ranks);
        this.arguments = new CallArguments(id, this.ranks, globalRank);
        this.reductions = new ReductionCalls(calls, arguments, wireTypes());
        this.movements = new MovementCalls(calls, arguments);
    }

    private WireTypes wireTypes() {
        return new WireTypes(membership.topology(), ranks, membership.config().compressOnOneHost());
    }

    /** 0 for the set of all ranks. */
    public final int id() {
        return id;
    }

    /** Global ranks of the members, ascending. */
    public final List<Integer> ranks() {
        return ranks;
    }

    /** Whether this rank is a member. */
    public final boolean included() {
        return ranks.contains(globalRank);
    }

    /** This rank's number within the set, 0 to {@link #size()} - 1. */
    public int rank() {
        calls.requireMember(() -> "rank()");
        return ranks.indexOf(globalRank);
    }

    /** Number of members. */
    public final int size() {
        return ranks.size();
    }

    /** Averages over the ranks; the input stays as it is. */
    public Tensor allreduce(String name, Tensor tensor) {
        return allreduce(name, tensor, AllreduceOptions.average());
    }

    public Tensor allreduce(String name, Tensor tensor, AllreduceOptions options) {
        return reductions.allreducing(name, tensor, options, true).synchronize();
    }

    /** Starts an allreduce into a new tensor of the same shape and type. */
    public Handle allreduceAsync(String name, Tensor tensor, AllreduceOptions options) {
        return reductions.allreducing(name, tensor, options, false);
    }

    /** Overwrites the tensor with the result, and returns it. */
    public Tensor allreduceInPlace(String name, Tensor tensor, AllreduceOptions options) {
        return reductions.allreducing(name, tensor, tensor, options, true).synchronize();
    }

    /** Starts an allreduce that overwrites the tensor, which must not be touched until the handle is done. */
    public Handle allreduceInPlaceAsync(String name, Tensor tensor, AllreduceOptions options) {
        return reductions.allreducing(name, tensor, tensor, options, false);
    }

    /**
     * Starts in-place allreduces that are announced together, at once, so that they can travel as one; if a name is
     * taken, none of them starts.
     *
     * @param tensors by name
     * @return one handle per tensor, in the map's order
     */
    public List<Handle> allreduceInPlaceAsync(Map<String, Tensor> tensors, AllreduceOptions options) {
        return reductions.allreducing(tensors, options);
    }

    /**
     * Prepares an in-place allreduce of tensors that travel again and again, such as a bucket of gradients, as
     * {@code MPI_Allreduce_init} does: what a call needs is made once, so that starting it makes no object per tensor and
     * looks nothing up. The ranks find the tensors by name, as those of the other allreduces, so they may prepare them in
     * other groups or call {@link #allreduceInPlace} for some of them.
     *
     * @param names the same on every rank for the same tensors, none of them twice
     * @param tensors one for each name, which every start reads and overwrites
     */
    public PreparedAllreduce prepareAllreduce(List<String> names, List<Tensor> tensors, AllreduceOptions options) {
        return reductions.preparing(names, tensors, options);
    }

    /**
     * Averages or otherwise reduces tensors that belong together: they travel as one when all ranks have
     * submitted all of them, and if one of them is refused, all are.
     *
     * @param name of the group; the tensors are called {@code name.0}, {@code name.1} and so on
     */
    public List<Tensor> groupedAllreduce(String name, List<Tensor> tensors, AllreduceOptions options) {
        return CollectiveCalls.synchronize(groupedAllreduceAsync(name, tensors, options));
    }

    /** Starts it; one handle per tensor, in their order. */
    public List<Handle> groupedAllreduceAsync(String name, List<Tensor> tensors, AllreduceOptions options) {
        List<Tensor> outputs = tensors.stream().map(CollectiveCalls::outputLike).toList();
        return reductions.grouped(name, OpKind.ALLREDUCE, tensors, outputs, options);
    }

    /** Overwrites the tensors. */
    public void groupedAllreduceInPlace(String name, List<Tensor> tensors, AllreduceOptions options) {
        CollectiveCalls.synchronize(groupedAllreduceInPlaceAsync(name, tensors, options));
    }

    public List<Handle> groupedAllreduceInPlaceAsync(String name, List<Tensor> tensors, AllreduceOptions options) {
        return reductions.grouped(name, OpKind.ALLREDUCE, tensors, tensors, options);
    }

    /**
     * Concatenates the ranks' tensors along the first dimension, which may differ between ranks.
     *
     * @throws HvdException if the tensor is a scalar
     */
    public Tensor allgather(String name, Tensor tensor) {
        return movements.allgathering(name, tensor, true).synchronize();
    }

    public Handle allgatherAsync(String name, Tensor tensor) {
        return movements.allgathering(name, tensor, false);
    }

    /** Allgathers of tensors that belong together; none runs before all of them can. */
    public List<Tensor> groupedAllgather(String name, List<Tensor> tensors) {
        return CollectiveCalls.synchronize(groupedAllgatherAsync(name, tensors));
    }

    public List<Handle> groupedAllgatherAsync(String name, List<Tensor> tensors) {
        return movements.groupedAllgathering(name, tensors);
    }

    /** The root's tensor, in a new tensor on every rank. */
    public Tensor broadcast(String name, Tensor tensor, int root) {
        return movements
                .broadcasting(name, tensor, CollectiveCalls.outputLike(tensor), root, true)
                .synchronize();
    }

    public Handle broadcastAsync(String name, Tensor tensor, int root) {
        return movements.broadcasting(name, tensor, CollectiveCalls.outputLike(tensor), root, false);
    }

    /** Overwrites the tensor with the root's, and returns it. */
    public Tensor broadcastInPlace(String name, Tensor tensor, int root) {
        return movements.broadcasting(name, tensor, tensor, root, true).synchronize();
    }

    public Handle broadcastInPlaceAsync(String name, Tensor tensor, int root) {
        return movements.broadcasting(name, tensor, tensor, root, false);
    }

    /**
     * Gives every rank an equal part of the tensor's rows.
     *
     * @throws HvdException if the number of rows is not a multiple of {@link #size()}
     */
    public AlltoallResult alltoall(String name, Tensor tensor) {
        return alltoallAsync(name, tensor).received();
    }

    public Handle alltoallAsync(String name, Tensor tensor) {
        return movements.exchanging(name, tensor, arguments.equalSplits(name, tensor));
    }

    /**
     * Gives every rank a part of the tensor's rows.
     *
     * @param splits number of rows for each rank; one per member, together at most the first dimension
     */
    public AlltoallResult alltoall(String name, Tensor tensor, int... splits) {
        return alltoallAsync(name, tensor, splits).received();
    }

    public Handle alltoallAsync(String name, Tensor tensor, int... splits) {
        return movements.exchanging(name, tensor, arguments.requireSplits(name, tensor, splits));
    }

    /**
     * Reduces over the ranks and leaves each its share of the rows; the first ranks get one more where
     * they do not go up.
     *
     * @param options SUM or AVERAGE
     */
    public Tensor reducescatter(String name, Tensor tensor, AllreduceOptions options) {
        return reductions.scattering(name, tensor, options, true).synchronize();
    }

    public Handle reducescatterAsync(String name, Tensor tensor, AllreduceOptions options) {
        return reductions.scattering(name, tensor, options, false);
    }

    /** Reducescatters of tensors that belong together; none runs before all of them can. */
    public List<Tensor> groupedReducescatter(String name, List<Tensor> tensors, AllreduceOptions options) {
        return CollectiveCalls.synchronize(groupedReducescatterAsync(name, tensors, options));
    }

    public List<Handle> groupedReducescatterAsync(String name, List<Tensor> tensors, AllreduceOptions options) {
        return reductions.groupedScattering(name, tensors, options);
    }

    /** Reduces to one rank, which gets a new tensor; the others get null. */
    public Tensor reduce(String name, Tensor tensor, AllreduceOptions options, int root) {
        return reductions.reducing(name, tensor, options, root, true).synchronize();
    }

    public Handle reduceAsync(String name, Tensor tensor, AllreduceOptions options, int root) {
        return reductions.reducing(name, tensor, options, root, false);
    }

    /** Concatenates the ranks' tensors on one rank; the others get null. */
    public Tensor gather(String name, Tensor tensor, int root) {
        return movements.gathering(name, tensor, root, true).synchronize();
    }

    public Handle gatherAsync(String name, Tensor tensor, int root) {
        return movements.gathering(name, tensor, root, false);
    }

    /**
     * Gives each rank its share of the root's rows; the first ranks get one more where they do not go up.
     *
     * @param tensor looked at on the root only; null elsewhere
     */
    public Tensor scatter(String name, Tensor tensor, int root) {
        return movements.scattering(name, tensor, root, true).synchronize();
    }

    public Handle scatterAsync(String name, Tensor tensor, int root) {
        return movements.scattering(name, tensor, root, false);
    }

    /** Sends a tensor to another rank, which calls {@link #receive} with the same tag; returns when it is there. */
    public void send(Tensor tensor, int to, int tag) {
        sendAsync(tensor, to, tag).synchronize();
    }

    public Handle sendAsync(Tensor tensor, int to, int tag) {
        return movements.sending(tensor, to, tag);
    }

    /** Overwrites a tensor with the one that another rank sends; its type and shape must be the same. */
    public Tensor receive(Tensor tensor, int from, int tag) {
        return receiveAsync(tensor, from, tag).synchronize();
    }

    public Handle receiveAsync(Tensor tensor, int from, int tag) {
        return movements.receiving(tensor, from, tag);
    }

    /** Returns when every member has come here. */
    public void barrier() {
        barrierAsync().synchronize();
    }

    public Handle barrierAsync() {
        return calls.submit(new Request.Barrier(calls.nameOr(null, "barrier"), 0));
    }

    /**
     * A barrier that does not wait for ever. The limit holds as long as this rank and rank 0 have nothing
     * else under way that waits for the missing ranks.
     *
     * @throws io.hvd.error.BarrierTimeoutException on all ranks, also on those that come later, if some have not
     *     come within the time after the first; it names all of them
     */
    public void monitoredBarrier(Duration atMost) {
        if (atMost.toMillis() < 1) {
            throw arguments.bad(OpKind.BARRIER, null, "the limit is " + atMost + ", expected at least a millisecond");
        }
        calls.submit(new Request.Barrier(calls.nameOr(null, "monitored_barrier"), atMost.toMillis()))
                .synchronize();
    }

    /**
     * This rank has run out of data: until all have, the others reduce without it. Other collectives
     * than allreduce and barrier fail meanwhile. Averages go on being divided by the number of all ranks.
     *
     * @return the last rank that joined, which has seen the most data
     */
    public int join() {
        return join(JoinDivisor.INITIAL);
    }

    /** @param divisor what averages are divided by meanwhile; the same on every rank */
    public int join(JoinDivisor divisor) {
        try {
            return calls.submit(new Request.Join(JOIN, divisor)).number();
        } finally {
            // The ranks have called a different number of operations; from here on they count alike again.
            calls.countAnew();
        }
    }

    /**
     * Gives every rank the root's object: first its size, then its bytes.
     *
     * @param value looked at on the root only
     */
    public <T> T broadcastObject(String name, T value, ObjectCodec<T> codec, int root) {
        String base = calls.nameOr(name, "broadcast_object");
        boolean isRoot = globalRank == root;
        byte[] mine = isRoot ? codec.encode(value) : new byte[0];
        Tensor size = broadcast(base + ".sz", Tensor.of((long) mine.length), root);
        byte[] bytes = isRoot ? mine : new byte[Math.toIntExact(((long[]) size.toArray())[0])];
        broadcastInPlace(base + ".t", Tensor.ofBytes(bytes), root);
        return codec.decode(bytes);
    }

    /** Gives every rank everybody's object, by rank. */
    public <T> List<T> allgatherObject(String name, T value, ObjectCodec<T> codec) {
        String base = calls.nameOr(name, "allgather_object");
        byte[] mine = codec.encode(value);
        long[] sizes =
                (long[]) allgather(base + ".sz", Tensor.of((long) mine.length)).toArray();
        byte[] all = (byte[]) allgather(base + ".t", Tensor.ofBytes(mine)).toArray();
        List<T> objects = new ArrayList<>();
        int at = 0;
        for (long size : sizes) {
            int end = at + Math.toIntExact(size);
            objects.add(codec.decode(Arrays.copyOfRange(all, at, end)));
            at = end;
        }
        return objects;
    }

    /**
     * Overwrites every rank's parameters with the root's, after checking that all ranks have the same
     * parameters: number, names, types and shapes.
     *
     * @param parameters by name; buffers such as running statistics belong in it too
     * @throws HvdException that names the first parameter that differs, and the ranks
     */
    public void broadcastParameters(Map<String, Tensor> parameters, int root) {
        Map<String, Tensor> sorted = new TreeMap<>(parameters);
        ParameterCheck.requireSame(this, sorted);
        List<Handle> handles = new ArrayList<>();
        sorted.forEach(
                (name, tensor) -> handles.add(broadcastInPlaceAsync("broadcast_parameters." + name, tensor, root)));
        handles.forEach(Handle::synchronize);
        parametersBroadcast = true;
    }

    /**
     * A training step of this rank has ended here; the timeline's verdict is about such steps.
     * {@code DistributedOptimizer.step()} calls it; call it yourself only in a training without one.
     */
    public final void markStep() {
        membership.recorder().step();
    }

    /** Whether {@link #broadcastParameters} has been called. */
    public final boolean parametersBroadcast() {
        return parametersBroadcast;
    }

    /** How often optimizers compare the ranks' parameters, in steps; 0 for never. */
    public final int divergenceSteps() {
        return membership.config().divergenceSteps();
    }

    /**
     * Makes sure that something is the same on all members, such as a seed or the size of a data set.
     *
     * @param values by what they are called in the message
     * @throws HvdException on all members, with every difference as value and ranks
     */
    public void requireSame(Map<String, String> values) {
        RankFacts mine = new RankFacts(new TreeMap<>(values));
        List<RankFacts> all =
                allgatherObject(calls.nameOr(null, "require_same"), mine.toBytes(), ObjectCodec.bytes()).stream()
                        .map(RankFacts::of)
                        .toList();
        List<String> differences = RankFacts.differences(all, ranks);
        if (!differences.isEmpty()) {
            throw new HvdException(
                    ErrorId.DIFFERENT_SETTINGS, "the ranks differ in " + String.join("; and ", differences));
        }
    }

    Membership membership() {
        return membership;
    }

    /** The way in for operations that are not for users of a set. */
    CollectiveCalls calls() {
        return calls;
    }
}
