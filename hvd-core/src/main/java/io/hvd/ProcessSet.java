package io.hvd;

import io.hvd.config.RankFacts;
import io.hvd.engine.message.Request;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.job.Membership;
import io.hvd.spi.OpKind;
import io.hvd.tensor.JoinDivisor;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Tensor;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Some of a job's ranks, with the collectives among them. {@link HvdContext} is the set of all ranks; other sets are
 * made by {@link InitOptions} and {@link HvdContext#addProcessSet}. Any thread may use a set.
 *
 * <p>hvd matches the operations of the ranks by name, so the ranks may submit them in any order. One name in two sets
 * means two operations. If the ranks ask for different things under one name, that operation fails on all of them with
 * a {@link io.hvd.error.RankMismatchException}, and the set stays usable. If the name is {@code null}, each rank counts
 * its operations of that kind, so the ranks must call them in one order.
 *
 * <p>Every method ending in {@code Async} starts its operation and returns a {@link Handle} at once; until the handle
 * is done, the tensors must not be touched.
 *
 * <p>Roots and peers are global ranks, even inside a set. A rank that is not a member gets an {@link HvdException} from
 * every collective before any data is sent. An argument that cannot be right is an {@link HvdException} on this rank
 * alone.
 */
public class ProcessSet {
    /**
     * Marks a method whose result is all that it gives. Error Prone and OpenRewrite go by this simple name, wherever it is declared, and
     * report calls whose result nobody takes.
     */
    @Retention(RetentionPolicy.RUNTIME)
    @Target(ElementType.METHOD)
    @interface CheckReturnValue {}

    private final Membership membership;
    private final int id;
    private final List<Integer> ranks;
    private final int globalRank;
    private final CollectiveCalls calls;
    private final CallArguments arguments;
    private final ReductionCalls reductions;
    private final MovementCalls movements;
    private final ForOptimizers forOptimizers = new ForOptimizers();
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
        return new WireTypes(membership.topology(), ranks);
    }

    /** The number of this set; the set of all ranks has number 0. */
    public final int id() {
        return id;
    }

    /** The global ranks of the members, in ascending order. */
    public final List<Integer> ranks() {
        return ranks;
    }

    /** Says whether this rank is a member. */
    public final boolean included() {
        return ranks.contains(globalRank);
    }

    /**
     * This rank's number within the set, from 0 to {@link #size()} - 1.
     *
     * @throws HvdException if this rank is not a member
     */
    public int rank() {
        calls.requireMember(() -> "rank()");
        return ranks.indexOf(globalRank);
    }

    /** The number of members. */
    public final int size() {
        return ranks.size();
    }

    /**
     * Averages a tensor over the ranks. The input is left unchanged.
     *
     * <pre>{@code
     * Tensor mean = hvd.allreduce("loss", Tensor.of(loss));
     * float everywhere = mean.item();
     * }</pre>
     *
     * @param tensor has one shape and type on all ranks
     * @return a new tensor of that shape and type
     */
    @CheckReturnValue
    public Tensor allreduce(String name, Tensor tensor) {
        return allreduce(name, tensor, AllreduceOptions.average());
    }

    /**
     * Reduces a tensor over the ranks into a new tensor of the same shape and type, and waits for the result.
     *
     * <pre>{@code
     * Tensor sum = hvd.allreduce("counts", counts, AllreduceOptions.sum());
     * Tensor most = hvd.allreduce("most", counts, AllreduceOptions.of(ReduceOp.MAX));
     * }</pre>
     */
    @CheckReturnValue
    public Tensor allreduce(String name, Tensor tensor, AllreduceOptions options) {
        return reductions.allreducing(name, tensor, options, true).synchronize();
    }

    /**
     * Starts an allreduce into a new tensor of the same shape and type.
     *
     * <pre>{@code
     * Handle handle = hvd.allreduceAsync("loss", loss, AllreduceOptions.average());
     * computeSomethingElse();
     * Tensor mean = handle.synchronize();
     * }</pre>
     */
    public Handle allreduceAsync(String name, Tensor tensor, AllreduceOptions options) {
        return reductions.allreducing(name, tensor, options, false);
    }

    /**
     * Reduces a tensor over the ranks, overwrites it with the result, and returns it.
     *
     * <pre>{@code
     * float[] gradient = {1, 2, 3};
     * hvd.allreduceInPlace("gradient", Tensor.of(gradient), AllreduceOptions.average()); // the array has the average now
     * }</pre>
     */
    public Tensor allreduceInPlace(String name, Tensor tensor, AllreduceOptions options) {
        return reductions.allreducing(name, tensor, tensor, options, true).synchronize();
    }

    /** Starts an allreduce that overwrites the tensor, which must not be touched until the handle is done. */
    public Handle allreduceInPlaceAsync(String name, Tensor tensor, AllreduceOptions options) {
        return reductions.allreducing(name, tensor, tensor, options, false);
    }

    /**
     * Starts in-place allreduces and announces them to the other ranks in one message, so that they can travel as one.
     *
     * @param tensors the tensors by name
     * @return one handle for each tensor, in the map's order
     * @throws io.hvd.error.DuplicateNameException if an operation of one of these names is in progress on this rank;
     *     none of the allreduces has then started
     */
    public List<Handle> allreduceInPlaceAsync(Map<String, Tensor> tensors, AllreduceOptions options) {
        return reductions.allreducing(tensors, options);
    }

    /**
     * Prepares an in-place allreduce of tensors that are reduced again and again, such as a bucket of gradients. Like
     * {@code MPI_Allreduce_init}, it makes the objects of a call only once, so that a start makes no object per tensor
     * and looks nothing up. The ranks match these tensors by name as in any other allreduce, so they may group them
     * differently, or call {@link #allreduceInPlace} for some of them.
     *
     * @param names one distinct name for each tensor; a tensor has one name on all ranks
     * @param tensors the tensors that every start reads and overwrites
     * @throws HvdException if a name occurs twice, or the lists differ in length
     */
    public PreparedAllreduce prepareAllreduce(List<String> names, List<Tensor> tensors, AllreduceOptions options) {
        return prepareAllreduce(names, tensors, Collections.nCopies(tensors.size(), options));
    }

    /**
     * Prepares an in-place allreduce of tensors as above, each with options of its own.
     *
     * @param options for each tensor
     */
    public PreparedAllreduce prepareAllreduce(
            List<String> names, List<Tensor> tensors, List<AllreduceOptions> options) {
        return reductions.preparing(names, tensors, options);
    }

    /**
     * Prepares a broadcast of tensors that the root sends again and again, such as the buffers of a model. Each start
     * overwrites the other ranks' tensors with the root's.
     *
     * @param names one distinct name for each tensor; a tensor has one name on all ranks
     * @param root global rank of the root
     */
    public PreparedCollective prepareBroadcast(List<String> names, List<Tensor> tensors, int root) {
        return movements.preparingBroadcasts(names, tensors, root);
    }

    /**
     * Prepares an allgather of tensors. Each start reads them and makes new tensors of what all ranks have, which {@link
     * PreparedCollective#results()} returns.
     *
     * @param names one distinct name for each tensor
     */
    public PreparedCollective prepareAllgather(List<String> names, List<Tensor> tensors) {
        return movements.preparingGathers(names, tensors);
    }

    /**
     * Prepares a reducescatter of tensors. Each start reads them and makes new tensors of this rank's rows of the sums
     * or averages, which {@link PreparedCollective#results()} returns.
     *
     * @param names one distinct name for each tensor
     */
    public PreparedCollective prepareReducescatter(List<String> names, List<Tensor> tensors, AllreduceOptions options) {
        return reductions.preparingScatters(names, tensors, options);
    }

    /**
     * Reduces tensors that belong together. They travel as one when all ranks have submitted all of them. If one of
     * them is refused, all are.
     *
     * @param name name of the group; the tensors are called {@code name.0}, {@code name.1} and so on
     * @param tensors tensors on one device
     * @return new tensors in the order of {@code tensors}
     */
    @CheckReturnValue
    public List<Tensor> groupedAllreduce(String name, List<Tensor> tensors, AllreduceOptions options) {
        return CollectiveCalls.synchronize(groupedAllreduceAsync(name, tensors, options));
    }

    /** Starts a grouped allreduce and returns one handle for each tensor, in their order. */
    public List<Handle> groupedAllreduceAsync(String name, List<Tensor> tensors, AllreduceOptions options) {
        List<Tensor> outputs = tensors.stream().map(CollectiveCalls::outputLike).toList();
        return reductions.grouped(name, OpKind.ALLREDUCE, tensors, outputs, options);
    }

    /** Reduces tensors that belong together, and overwrites them with the results. */
    public void groupedAllreduceInPlace(String name, List<Tensor> tensors, AllreduceOptions options) {
        CollectiveCalls.synchronize(groupedAllreduceInPlaceAsync(name, tensors, options));
    }

    /** Does as {@link #groupedAllreduceInPlace}, and returns at once; each handle waits for one result. */
    public List<Handle> groupedAllreduceInPlaceAsync(String name, List<Tensor> tensors, AllreduceOptions options) {
        return reductions.grouped(name, OpKind.ALLREDUCE, tensors, tensors, options);
    }

    /**
     * Concatenates the ranks' tensors along the first dimension, in the order of the ranks. Only the first dimension
     * may differ between ranks.
     *
     * <pre>{@code
     * Tensor mine = Tensor.of(new float[hvd.rank() + 1]);
     * Tensor all = hvd.allgather("parts", mine); // with 4 ranks 1 + 2 + 3 + 4 elements
     * }</pre>
     *
     * @return the concatenation, as a new tensor on every rank
     * @throws HvdException if the tensor is a scalar
     */
    @CheckReturnValue
    public Tensor allgather(String name, Tensor tensor) {
        return movements.allgathering(name, tensor, true).synchronize();
    }

    /** Does as {@link #allgather}, and returns at once; the handle waits for the result. */
    public Handle allgatherAsync(String name, Tensor tensor) {
        return movements.allgathering(name, tensor, false);
    }

    /**
     * Concatenates tensors of one shape into a tensor of the program's, as torch's {@code all_gather_into_tensor}.
     *
     * <pre>{@code
     * Tensor all = Tensor.zeros(mine.dtype(), Shape.of(hvd.size() * rows)); // mine has this many rows on every rank
     * hvd.allgatherIntoAsync("parts", mine, all).synchronize();
     * }</pre>
     *
     * @param output has {@link #size()} times the rows of {@code tensor}, lies on the same device and must not overlap
     *     it; should another rank have other rows, the handle's result is a new tensor and this one is left unchanged
     * @throws HvdException if the output has another type, shape or device
     */
    public Handle allgatherIntoAsync(String name, Tensor tensor, Tensor output) {
        return movements.allgathering(name, tensor, output);
    }

    /** Gathers several tensors as {@link #allgather} does; no one of them runs before all of them can. */
    @CheckReturnValue
    public List<Tensor> groupedAllgather(String name, List<Tensor> tensors) {
        return CollectiveCalls.synchronize(groupedAllgatherAsync(name, tensors));
    }

    /** Does as {@link #groupedAllgather}, and returns at once; each handle waits for one result. */
    public List<Handle> groupedAllgatherAsync(String name, List<Tensor> tensors) {
        return movements.groupedAllgathering(name, tensors);
    }

    /**
     * Reduces rows of which each rank has others and all other rows are zeros. Every rank gets the rows of all ranks in rank
     * order, with AVERAGE divided by the number of ranks; a row that several ranks have occurs several times.
     *
     * @param indices the numbers of this rank's rows, as int64 or int32; there may be none
     * @param values these rows
     * @param op SUM, or of floating-point values in the host's memory AVERAGE
     * @return the indices, and the rows in the same order
     */
    @CheckReturnValue
    public List<Tensor> sparseAllreduce(String name, Tensor indices, Tensor values, ReduceOp op) {
        return CollectiveCalls.synchronize(sparseAllreduceAsync(name, indices, values, op));
    }

    /** Does as {@link #sparseAllreduce}, and returns at once: a handle for the indices, and one for the values. */
    public List<Handle> sparseAllreduceAsync(String name, Tensor indices, Tensor values, ReduceOp op) {
        return movements.allreducingRows(name, indices, values, op);
    }

    /**
     * Copies the root's tensor into a new tensor on every rank.
     *
     * <pre>{@code
     * Tensor seed = hvd.broadcast("seed", Tensor.of(System.nanoTime()), 0); // rank 0's, on every rank
     * }</pre>
     *
     * @param tensor has one shape and type on all ranks; only the root's elements are read
     * @param root global rank of the root
     */
    @CheckReturnValue
    public Tensor broadcast(String name, Tensor tensor, int root) {
        return movements
                .broadcasting(name, tensor, CollectiveCalls.outputLike(tensor), root, true)
                .synchronize();
    }

    /** Does as {@link #broadcast}, and returns at once; the handle waits for the result. */
    public Handle broadcastAsync(String name, Tensor tensor, int root) {
        return movements.broadcasting(name, tensor, CollectiveCalls.outputLike(tensor), root, false);
    }

    /** Overwrites the tensor with the root's tensor, and returns it. */
    public Tensor broadcastInPlace(String name, Tensor tensor, int root) {
        return movements.broadcasting(name, tensor, tensor, root, true).synchronize();
    }

    /** Does as {@link #broadcastInPlace}, and returns at once; the handle waits for the result. */
    public Handle broadcastInPlaceAsync(String name, Tensor tensor, int root) {
        return movements.broadcasting(name, tensor, tensor, root, false);
    }

    /**
     * Sends an equal part of the tensor's rows to every rank; the ranks receive the parts in rank order.
     *
     * @throws HvdException if the number of rows is not a multiple of {@link #size()}
     */
    @CheckReturnValue
    public AlltoallResult alltoall(String name, Tensor tensor) {
        return alltoallAsync(name, tensor).received();
    }

    /** Does as {@link #alltoall(String, Tensor)}, and returns at once; the handle waits for the result. */
    public Handle alltoallAsync(String name, Tensor tensor) {
        return movements.exchanging(name, tensor, arguments.equalSplits(name, tensor));
    }

    /**
     * Sends a part of the tensor's rows to every rank; the parts may differ in length.
     *
     * <pre>{@code
     * // with two ranks: one row for rank 0, two rows for rank 1
     * AlltoallResult received = hvd.alltoall("rows", threeRows, 1, 2);
     * }</pre>
     *
     * @param splits the number of rows for each member; their sum is at most the tensor's first dimension
     */
    @CheckReturnValue
    public AlltoallResult alltoall(String name, Tensor tensor, int... splits) {
        return alltoallAsync(name, tensor, splits).received();
    }

    /** Does as {@link #alltoall(String, Tensor, int...)}, and returns at once; the handle waits for the result. */
    public Handle alltoallAsync(String name, Tensor tensor, int... splits) {
        return movements.exchanging(name, tensor, arguments.requireSplits(name, tensor, splits));
    }

    /**
     * Reduces a tensor over the ranks and gives each rank its share of the rows of the result. If the number of rows is
     * not a multiple of {@link #size()}, the first ranks get one row more than the others.
     *
     * <pre>{@code
     * Tensor mine = hvd.reducescatter("rows", rows, AllreduceOptions.sum());
     * }</pre>
     *
     * @param options the operation must be SUM or AVERAGE
     * @return this rank's rows, as a new tensor
     * @throws HvdException if the tensor is a scalar or the operation is another one
     */
    @CheckReturnValue
    public Tensor reducescatter(String name, Tensor tensor, AllreduceOptions options) {
        return reductions.scattering(name, tensor, options, true).synchronize();
    }

    /** Does as {@link #reducescatter}, and returns at once; the handle waits for the result. */
    public Handle reducescatterAsync(String name, Tensor tensor, AllreduceOptions options) {
        return reductions.scattering(name, tensor, options, false);
    }

    /**
     * Reduces into a tensor of the program's, as torch's {@code reduce_scatter_tensor}.
     *
     * @param tensor its number of rows is a multiple of {@link #size()}
     * @param output has as many rows as each rank gets, lies on the same device and must not overlap {@code tensor}
     * @throws HvdException if the rows do not divide evenly, or the output has another type, shape or device
     */
    public Handle reducescatterIntoAsync(String name, Tensor tensor, Tensor output, AllreduceOptions options) {
        return reductions.scattering(name, tensor, output, options);
    }

    /** Reduces several tensors as {@link #reducescatter} does; no one of them runs before all of them can. */
    @CheckReturnValue
    public List<Tensor> groupedReducescatter(String name, List<Tensor> tensors, AllreduceOptions options) {
        return CollectiveCalls.synchronize(groupedReducescatterAsync(name, tensors, options));
    }

    /** Does as {@link #groupedReducescatter}, and returns at once; each handle waits for one result. */
    public List<Handle> groupedReducescatterAsync(String name, List<Tensor> tensors, AllreduceOptions options) {
        return reductions.groupedScattering(name, tensors, options);
    }

    /** Reduces a tensor to the root, which gets the result as a new tensor; the other ranks get null. */
    @CheckReturnValue
    public Tensor reduce(String name, Tensor tensor, AllreduceOptions options, int root) {
        return reductions.reducing(name, tensor, options, root, true).synchronize();
    }

    /** Does as {@link #reduce}, and returns at once; the handle waits for the result. */
    public Handle reduceAsync(String name, Tensor tensor, AllreduceOptions options, int root) {
        return reductions.reducing(name, tensor, options, root, false);
    }

    /** Concatenates the ranks' tensors along the first dimension on the root; the other ranks get null. */
    @CheckReturnValue
    public Tensor gather(String name, Tensor tensor, int root) {
        return movements.gathering(name, tensor, root, true).synchronize();
    }

    /** Does as {@link #gather}, and returns at once; the handle waits for the result. */
    public Handle gatherAsync(String name, Tensor tensor, int root) {
        return movements.gathering(name, tensor, root, false);
    }

    /**
     * Gives each rank its share of the rows of the root's tensor, as a new tensor. If the number of rows is not a
     * multiple of {@link #size()}, the first ranks get one row more than the others.
     *
     * @param tensor the tensor of the root; it may be null on the other ranks
     */
    @CheckReturnValue
    public Tensor scatter(String name, Tensor tensor, int root) {
        return movements.scattering(name, tensor, root, true).synchronize();
    }

    /** Does as {@link #scatter}, and returns at once; the handle waits for the result. */
    public Handle scatterAsync(String name, Tensor tensor, int root) {
        return movements.scattering(name, tensor, root, false);
    }

    /**
     * Sends a tensor to another rank, which must call {@link #receive} with this tag, and waits until it has arrived.
     *
     * <pre>{@code
     * if (hvd.rank() == 0) {
     *     hvd.send(activations, 1, 7);
     * } else if (hvd.rank() == 1) {
     *     hvd.receive(activations, 0, 7);
     * }
     * }</pre>
     */
    public void send(Tensor tensor, int to, int tag) {
        sendAsync(tensor, to, tag).synchronize();
    }

    /** Does as {@link #send}, and returns at once; the tensor must not be changed before the handle is done. */
    public Handle sendAsync(Tensor tensor, int to, int tag) {
        return movements.sending(tensor, to, tag);
    }

    /** Waits for the tensor that another rank sends, and overwrites a tensor of the same type and shape with it. */
    public Tensor receive(Tensor tensor, int from, int tag) {
        return receiveAsync(tensor, from, tag).synchronize();
    }

    /** Does as {@link #receive}, and returns at once; the handle waits for the tensor. */
    public Handle receiveAsync(Tensor tensor, int from, int tag) {
        return movements.receiving(tensor, from, tag);
    }

    /**
     * Waits until every member has called it.
     *
     * <pre>{@code
     * if (hvd.localRank() == 0) {
     *     makeFiles();
     * }
     * hvd.barrier(); // now the files are there
     * }</pre>
     */
    public void barrier() {
        barrierAsync().synchronize();
    }

    /** Does as {@link #barrier()}, and returns at once; the handle waits for the other members. */
    public Handle barrierAsync() {
        return calls.submit(new Request.Barrier(calls.nameOr(null, "barrier"), 0));
    }

    /**
     * Waits until every member has called it, but not for ever. The limit holds only while no other operation of this
     * rank or of rank 0 waits for the missing ranks.
     *
     * <pre>{@code
     * hvd.monitoredBarrier(Duration.ofSeconds(30));
     * }</pre>
     *
     * @param atMost the limit, at least a millisecond, counted from the first rank's call
     * @throws io.hvd.error.BarrierTimeoutException on all ranks, including those that call later, if some ranks have
     *     not called within the limit; it names all of the missing ranks
     */
    public void monitoredBarrier(Duration atMost) {
        if (atMost.toMillis() < 1) {
            throw arguments.bad(OpKind.BARRIER, null, "the limit is " + atMost + ", expected at least a millisecond");
        }
        calls.submit(new Request.Barrier(calls.nameOr(null, "monitored_barrier"), atMost.toMillis()))
                .synchronize();
    }

    /**
     * Tells the other ranks that this rank has run out of data, and waits until all ranks have called it. Until then
     * the other ranks reduce without this one, and averages are still divided by the number of all ranks. Collectives
     * other than allreduce and barrier fail meanwhile.
     *
     * <pre>{@code
     * for (Batch batch : mine) { // ranks may have different numbers of batches
     *     train(batch);
     * }
     * int last = hvd.join();
     * }</pre>
     *
     * @return the rank that joined last, which has seen the most data
     */
    public int join() {
        return join(JoinDivisor.INITIAL);
    }

    /**
     * @param divisor says by which number averages are divided meanwhile; every rank must pass the same one
     * @throws io.hvd.error.RankMismatchException with {@link JoinDivisor#NONE}, if other ranks go on; they get it too
     */
    public int join(JoinDivisor divisor) {
        return calls.join(divisor);
    }

    /**
     * Gives every rank the root's object. Two broadcasts carry it: one of its size, one of its bytes.
     *
     * <pre>{@code
     * String run = hvd.broadcastObject("run", name, ObjectCodec.utf8(), 0);
     * }</pre>
     *
     * @param value the object of the root; it is ignored on the other ranks
     * @return the root's object as decoded from its bytes, on the root too
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

    /**
     * Gives every rank the objects of all ranks, in the order of the ranks.
     *
     * <pre>{@code
     * List<String> hosts = hvd.allgatherObject("host", myHost, ObjectCodec.utf8());
     * }</pre>
     */
    @CheckReturnValue
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
     * <pre>{@code
     * hvd.broadcastParameters(TorchTensors.state(model), 0);
     * }</pre>
     *
     * @param parameters the parameters by name; include buffers such as running statistics
     * @throws HvdException that names the first parameter that differs, and the ranks
     */
    public void broadcastParameters(Map<String, Tensor> parameters, int root) {
        Map<String, Tensor> sorted = new TreeMap<>(parameters);
        requireSameParameters(sorted);
        List<Handle> handles = new ArrayList<>();
        sorted.forEach(
                (name, tensor) -> handles.add(broadcastInPlaceAsync("broadcast_parameters." + name, tensor, root)));
        handles.forEach(Handle::synchronize);
        parametersBroadcast = true;
    }

    private void requireSameParameters(Map<String, Tensor> parameters) {
        Map<String, String> described = new TreeMap<>();
        parameters.forEach((name, tensor) -> described.put(
                name, tensor.dtype() + " " + tensor.shape() + (tensor.device().isCpu() ? "" : " on a GPU")));
        List<String> differences = differences("broadcast_parameters.check", described);
        if (!differences.isEmpty()) {
            throw new HvdException(
                    ErrorId.STATE_MISMATCH,
                    "the ranks do not have the same parameters, nothing was broadcast; first difference: "
                            + differences.get(0));
        }
    }

    /**
     * Marks the end of a training step of this rank; the timeline's verdict is about these steps.
     * {@code DistributedOptimizer.step()} calls it, so call it only in a program without such an optimizer.
     */
    public final void markStep() {
        membership.recorder().step();
    }

    /**
     * The set's services to optimizers and training loops. They are for those who write one; a program that trains needs none of them.
     *
     * <pre>{@code
     * set.forOptimizers().inAnyOrder(() -> handles.add(set.allreduceAsync(name, gradient, options)));
     * }</pre>
     */
    public final ForOptimizers forOptimizers() {
        return forOptimizers;
    }

    /** See {@link #forOptimizers()}. Any thread may use it. */
    public final class ForOptimizers {
        private ForOptimizers() {}

        /**
         * The number of joins of this set that are over. It is the same on all members, although they may have called
         * different numbers of other operations.
         */
        public int joins() {
            return ProcessSet.this.calls.joins();
        }

        /** Numbers what this rank makes for this set, kind by kind: 1 in the first call, and then one more each time. */
        public int numberOf(String kind) {
            return ProcessSet.this.calls.numberOf(kind);
        }

        /** The line of the program's that has called hvd on this thread, for messages, such as {@code Train.step(Train.java:42)}. */
        public String callerLine() {
            return membership.callerLine();
        }

        /** Says whether {@link #broadcastParameters} has been called. */
        public boolean parametersBroadcast() {
            return ProcessSet.this.parametersBroadcast;
        }

        /** Whether this rank is still in the job of the set, and the job has not failed. */
        public boolean isInOpenJob() {
            return membership.isOpen() && membership.failure().isEmpty();
        }

        /** The number of steps after which optimizers compare the ranks' parameters; 0 means never. */
        public int divergenceSteps() {
            return membership.config().optimizer().divergenceSteps();
        }

        /**
         * Bytes at which an optimizer closes a group of gradients, 0 for its own choice: as {@code HVD_BUCKET_BYTES} says or, for all
         * ranks, as autotuning does.
         *
         * @param follows whether the optimizer asks again before each step, so that autotuning may look for a better value
         */
        public long bucketBytes(boolean follows) {
            return id == 0
                    ? membership.engine().bucketBytes(follows)
                    : membership.config().engine().bucketBytes();
        }

        /**
         * Whether an optimizer over this set had better start the allreduces of a step together, when backward has ended: once the
         * steps of all ranks repeat, where all ranks are on one host and have less than two cores each, so that whatever travels
         * during backward takes the core that computes. Once it is true it stays so.
         */
        public boolean stepsTravelLate() {
            return id == 0 && included() && membership.engine().stepsTravelLate();
        }

        /**
         * Runs calls whose order follows from no line of the program, such as those of gradients as backward computes them. With
         * {@code HVD_STRICT=1} each of them is compared with the call of the same name on the other ranks, and not with whatever
         * these call at the same place. Optimizers make their calls in this way.
         */
        public void inAnyOrder(Runnable calls) {
            membership.engine().inAnyOrder(calls);
        }

        /** Whether optimizers refuse steps by gradients that are not finite, as {@code HVD_REFUSE_NON_FINITE} says. */
        public boolean refusesNonFinite() {
            return membership.config().optimizer().refuseNonFinite();
        }

        /** How long a wait may last before it is reported, as {@code HOROVOD_STALL_CHECK_TIME_SECONDS} says. */
        public Duration stallWarning() {
            return membership.config().monitor().stall().warning();
        }

        /**
         * How long a wait may last before it ends with an error, as {@code HOROVOD_STALL_SHUTDOWN_TIME_SECONDS} says; zero
         * if waits are never ended.
         */
        public Duration stallShutdown() {
            return membership.config().monitor().stall().shutdown();
        }
    }

    /**
     * The kind of set, this rank and the number of ranks, and whether the context is still open. It asks no other rank, and may be
     * called at any time.
     */
    @Override
    public String toString() {
        String members = included()
                ? "rank " + ranks.indexOf(globalRank) + " of " + size() + ", the job's ranks " + ranks
                : "of the job's ranks " + ranks + ", rank " + globalRank + " is none of them";
        return "ProcessSet " + id + "(" + members + (calls.isRegistered() ? "" : ", removed")
                + (membership.isOpen() ? "" : ", closed") + ")";
    }

    /**
     * Checks that values, such as a seed or the size of a data set, do not differ between the members.
     *
     * @param values the values by the names that the error message uses
     * @throws HvdException on all members if a value differs; it lists each value with its ranks
     */
    public void requireSame(Map<String, String> values) {
        List<String> differences = differences(calls.nameOr(null, "require_same"), values);
        if (!differences.isEmpty()) {
            throw new HvdException(
                    ErrorId.DIFFERENT_SETTINGS, "the ranks differ in " + String.join("; and ", differences));
        }
    }

    /** Each rank sends its values, and compares those of all, so that all find the same differences. */
    private List<String> differences(String name, Map<String, String> values) {
        byte[] mine = new RankFacts(new TreeMap<>(values)).toBytes();
        List<RankFacts> all = allgatherObject(name, mine, ObjectCodec.bytes()).stream()
                .map(RankFacts::of)
                .toList();
        return RankFacts.differences(all, ranks);
    }

    Membership membership() {
        return membership;
    }

    /** Submits operations that are not part of the public API of a set. */
    CollectiveCalls calls() {
        return calls;
    }
}
