package io.hvd;

import io.hvd.engine.Engine;
import io.hvd.engine.Request;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.spi.Topology;
import io.hvd.tensor.DType;
import io.hvd.tensor.Device;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Tensor;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicLong;

/**
 * One rank's membership in a job: who it is, and the collectives. Made by {@link Hvd#init()} or
 * {@link Hvd#spawn}; any thread may use it.
 *
 * <p>Operations are matched over the ranks by their name, so the ranks may submit them in any order.
 * If the ranks ask for different things under one name, that operation fails on all of them with a
 * {@link io.hvd.error.RankMismatchException} and the context stays usable.
 */
public final class HvdContext implements AutoCloseable {
    private final Membership membership;
    private final Engine engine;
    private final Topology topology;
    private final AtomicLong unnamed = new AtomicLong();

    HvdContext(Membership membership) {
        this.membership = membership;
        this.engine = membership.engine();
        this.topology = membership.topology();
    }

    /** This process's number in the job, 0 to {@link #size()} - 1. */
    public int rank() {
        return topology.rank();
    }

    /** Number of ranks in the job. */
    public int size() {
        return topology.size();
    }

    /** This rank's number among those of its host. */
    public int localRank() {
        return topology.localRank();
    }

    /** Number of ranks on this host. */
    public int localSize() {
        return topology.localSize();
    }

    /** This host's number among the hosts that have a rank with this local rank. */
    public int crossRank() {
        return topology.crossRank();
    }

    /** Number of hosts that have a rank with this local rank. */
    public int crossSize() {
        return topology.crossSize();
    }

    /** Host name of every rank, by rank. */
    public List<String> hosts() {
        return topology.hosts();
    }

    /** The GPU of this rank, or the CPU when there is none. */
    public Device device() {
        return membership.device();
    }

    /** The back end and why it was chosen, in a few words. */
    public String backend() {
        return membership.description();
    }

    public boolean isOpen() {
        return membership.isOpen();
    }

    /** Averages over the ranks; the input stays as it is. */
    public Tensor allreduce(String name, Tensor tensor) {
        return allreduce(name, tensor, AllreduceOptions.average());
    }

    public Tensor allreduce(String name, Tensor tensor, AllreduceOptions options) {
        return submitAllreduce(name, tensor, outputLike(tensor), options, true).synchronize();
    }

    /** Starts an allreduce into a new tensor of the same shape and type. */
    public Handle allreduceAsync(String name, Tensor tensor, AllreduceOptions options) {
        return submitAllreduce(name, tensor, outputLike(tensor), options, false);
    }

    /** Overwrites the tensor with the result, and returns it. */
    public Tensor allreduceInPlace(String name, Tensor tensor, AllreduceOptions options) {
        return submitAllreduce(name, tensor, tensor, options, true).synchronize();
    }

    /** Starts an allreduce that overwrites the tensor, which must not be touched until the handle is done. */
    public Handle allreduceInPlaceAsync(String name, Tensor tensor, AllreduceOptions options) {
        return submitAllreduce(name, tensor, tensor, options, false);
    }

    /**
     * Starts in-place allreduces that are announced together, at once, so that they can travel as one; if a name is
     * taken, none of them starts.
     *
     * @param tensors by name
     * @return one handle per tensor, in the map's order
     */
    public List<Handle> allreduceInPlaceAsync(Map<String, Tensor> tensors, AllreduceOptions options) {
        List<Request> requests = new ArrayList<>(tensors.size());
        tensors.forEach((name, tensor) -> requests.add(allreduceRequest(name, tensor, options)));
        List<CompletableFuture<Tensor>> results =
                membership.open("allreduce").submitTogether(requests, List.copyOf(tensors.values()));
        List<Handle> handles = new ArrayList<>(results.size());
        for (int i = 0; i < results.size(); i++) {
            handles.add(handle(requests.get(i).name(), results.get(i)));
        }
        return handles;
    }

    /**
     * Concatenates the ranks' tensors along the first dimension, which may differ between ranks.
     *
     * @throws HvdException if the tensor is a scalar
     */
    public Tensor allgather(String name, Tensor tensor) {
        return submitAllgather(name, tensor, true).synchronize();
    }

    public Handle allgatherAsync(String name, Tensor tensor) {
        return submitAllgather(name, tensor, false);
    }

    /** The root's tensor, in a new tensor on every rank. */
    public Tensor broadcast(String name, Tensor tensor, int root) {
        return submitBroadcast(name, tensor, outputLike(tensor), root, true).synchronize();
    }

    public Handle broadcastAsync(String name, Tensor tensor, int root) {
        return submitBroadcast(name, tensor, outputLike(tensor), root, false);
    }

    /** Overwrites the tensor with the root's, and returns it. */
    public Tensor broadcastInPlace(String name, Tensor tensor, int root) {
        return submitBroadcast(name, tensor, tensor, root, true).synchronize();
    }

    public Handle broadcastInPlaceAsync(String name, Tensor tensor, int root) {
        return submitBroadcast(name, tensor, tensor, root, false);
    }

    /** Returns when every rank has come here. */
    public void barrier() {
        barrierAsync().synchronize();
    }

    public Handle barrierAsync() {
        String name = nameOr(null, "barrier");
        return handle(name, membership.open("barrier").submit(Request.barrier(name), null, null, true));
    }

    /**
     * Gives every rank the root's object: first its size, then its bytes.
     *
     * @param value looked at on the root only
     */
    public <T> T broadcastObject(String name, T value, ObjectCodec<T> codec, int root) {
        String base = nameOr(name, "broadcast_object");
        byte[] mine = rank() == root ? codec.encode(value) : new byte[0];
        Tensor size = broadcast(base + ".sz", Tensor.of((long) mine.length), root);
        byte[] bytes = rank() == root ? mine : new byte[Math.toIntExact(((long[]) size.toArray())[0])];
        broadcastInPlace(base + ".t", Tensor.ofBytes(bytes), root);
        return codec.decode(bytes);
    }

    /**
     * Overwrites every rank's parameters with the root's, after checking that all ranks have the same
     * parameters: number, names, types and shapes.
     *
     * @param parameters by name; buffers such as running statistics belong in it too
     * @throws HvdException that names the first parameter that differs, and the ranks
     */
    public void broadcastParameters(Map<String, Tensor> parameters, int root) {
        Map<String, Tensor> sorted = new java.util.TreeMap<>(parameters);
        ParameterCheck.requireSame(this, sorted);
        List<Handle> handles = new ArrayList<>();
        sorted.forEach(
                (name, tensor) -> handles.add(broadcastInPlaceAsync("broadcast_parameters." + name, tensor, root)));
        handles.forEach(Handle::synchronize);
    }

    /**
     * Leaves the job; every rank must come here. Waits until all have, then ends MPI. Operations that
     * are still pending fail.
     */
    @Override
    public void close() {
        membership.close(true);
    }

    /** Like {@link #close()}, but MPI stays, so that {@link Hvd#init()} may be called again. */
    public void shutdown() {
        membership.close(false);
    }

    Membership membership() {
        return membership;
    }

    private Handle submitAllreduce(String name, Tensor input, Tensor output, AllreduceOptions options, boolean hurry) {
        Request request = allreduceRequest(name, input, options);
        return handle(request.name(), membership.open("allreduce").submit(request, input, output, hurry));
    }

    private Request allreduceRequest(String name, Tensor input, AllreduceOptions options) {
        Objects.requireNonNull(input, "tensor");
        if (options.op() == ReduceOp.ADASUM) {
            throw new HvdException(ErrorId.UNSUPPORTED, "allreduce of " + name + ": ADASUM is not there yet");
        }
        DType wire = options.compression().wireFor(input.dtype());
        return Request.allreduce(
                nameOr(name, "allreduce"), input, options.op(), wire, options.prescale(), options.postscale());
    }

    private Handle submitAllgather(String name, Tensor input, boolean hurry) {
        String known = nameOr(name, "allgather");
        if (input.shape().rank() == 0) {
            throw new HvdException(
                    ErrorId.BAD_ARGUMENT,
                    "allgather of \"" + known + "\" on rank " + rank()
                            + ": the tensor is a scalar, it needs at least one dimension to be concatenated along");
        }
        return handle(known, membership.open("allgather").submit(Request.allgather(known, input), input, null, hurry));
    }

    private Handle submitBroadcast(String name, Tensor input, Tensor output, int root, boolean hurry) {
        String known = nameOr(name, "broadcast");
        if (root < 0 || root >= size()) {
            throw new HvdException(
                    ErrorId.BAD_ARGUMENT,
                    "broadcast of \"" + known + "\" on rank " + rank() + ": root rank " + root + " is not in [0, "
                            + (size() - 1) + "]");
        }
        return handle(
                known,
                membership.open("broadcast").submit(Request.broadcast(known, input, root), input, output, hurry));
    }

    private static Tensor outputLike(Tensor tensor) {
        if (tensor.device().isCpu()) {
            return Tensor.zeros(tensor.dtype(), tensor.shape());
        }
        throw new HvdException(
                ErrorId.UNSUPPORTED,
                "an out-of-place collective on " + tensor.device()
                        + " would have to allocate GPU memory; use the in-place form");
    }

    private Handle handle(String name, CompletableFuture<Tensor> result) {
        return new Handle(name, result, engine::hurry);
    }

    private String nameOr(String name, String operation) {
        return name != null ? name : operation + ".noname." + unnamed.getAndIncrement();
    }
}
