package io.hvd.optimizer.torch;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.torch.DataParallelStats.Share;
import io.hvd.optimizer.torch.memory.TensorViews;
import io.hvd.optimizer.torch.module.Replica;
import io.hvd.optimizer.torch.module.ReplicaThreads;
import io.hvd.tensor.Device;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BiFunction;
import java.util.function.Supplier;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;

/**
 * Runs a LibTorch module on several devices of one process, as torch's {@code nn.DataParallel}: a batch is split along its
 * first dimension, each device has a replica of the module and a thread of its own, and the outputs are gathered in order on
 * the first device. Several devices may be the CPU, then each is a thread.
 *
 * <pre>{@code
 * try (var parallel = DataParallel.wrap(Net::new, List.of(Device.cuda(0), Device.cuda(1)))) {
 *     var adam = new Adam(parallel.module().parameters(), new AdamOptions(0.001));
 *     ...
 *     nll_loss(parallel.forward(Net::forward, images), labels).backward();
 *     adam.step();
 * }
 * }</pre>
 *
 * <p>The first replica, {@link #module()}, is the model: it alone is trained, saved and looked at. Before each forward pass the
 * others get copies of its parameters and buffers, of which {@link #lastForward()} tells the cost, and its modes of training
 * and evaluation. The copies of parameters are a part of LibTorch's graph, and so are the split and the gathering. Gradients of
 * all devices therefore add up in the first replica's parameters in one backward pass, which may be repeated or differentiated
 * itself. What a replica does to its buffers, such as the running statistics of batch norms, is lost, but for the first one.
 *
 * <p>On GPUs LibTorch runs backward on a thread per GPU. On the CPU it runs the whole of it on the thread that calls {@code
 * backward()}, with the threads that LibTorch uses within an operation on that thread; these the device threads share among
 * them in forward. Ranks that are threads ({@code Hvd.spawn}) or processes do both passes side by side.
 *
 * <p>Every replica draws its own random numbers; those of dropout on one device follow LibTorch's generator of that device. Sparse
 * gradients do not come back from the other devices, for LibTorch's copies carry dense ones only. If a second
 * forward pass comes before backward of the first one, the weights must be the same, else LibTorch says that they were modified.
 *
 * <p>One thread at a time may use it. The program closes the tensors that it gets, or has a {@code PointerScope} around the step.
 * Without GPUs it has not been seen to work on any: they take the same path with other devices.
 *
 * @param <M> the module's class
 */
public final class DataParallel<M extends Module> implements AutoCloseable {
    private final List<Replica<M>> replicas;
    private final ReplicaThreads threads;
    private DataParallelStats last = DataParallelStats.NONE;

    private DataParallel(List<Replica<M>> replicas) {
        this.replicas = replicas;
        this.threads =
                new ReplicaThreads(replicas.stream().map(Replica::device).toList(), CallersAutocast::ofThisThread);
    }

    /**
     * Makes the replicas, and moves each to its device. The replicas get the weights of the first one before they are used.
     *
     * @param factory makes one module per device; all have the same parameters and buffers, by name, shape and type
     * @param devices of the replicas, the first of which holds the model and gathers the outputs
     * @throws HvdException if there is no device, a GPU is named twice or cannot be used, or the factory's modules differ
     */
    public static <M extends Module> DataParallel<M> wrap(Supplier<M> factory, List<Device> devices) {
        TorchRuntime.load();
        ReplicaThreads.requireUsable(devices);
        List<Replica<M>> replicas = new ArrayList<>();
        for (Device device : devices) {
            replicas.add(Replica.of(replicas.size(), device, factory.get()));
            replicas.get(replicas.size() - 1).requireLike(replicas.get(0));
        }
        return new DataParallel<>(List.copyOf(replicas));
    }

    /** The model: the first device's replica. Its parameters are those to train, broadcast and save. */
    public M module() {
        return replicas.get(0).module();
    }

    /** All replicas, in the order of the devices: to give each what is not a parameter or buffer, such as a seed. */
    public List<M> replicas() {
        return replicas.stream().map(Replica::module).toList();
    }

    /** What the last forward pass has moved and how long that took; of no devices before the first one. */
    public DataParallelStats lastForward() {
        return last;
    }

    /**
     * Runs the module on a batch.
     *
     * @param forward such as {@code Net::forward}; called on the devices' threads with a replica and its part of the batch,
     *     on its device
     * @param batch (samples, ...), on any device. The parts are equal but for the last one, which may be smaller; with fewer
     *     samples than devices some devices get none
     * @return the outputs in the batch's order, (samples, ...), on the first device. Where the module gives a scalar, such as a
     *     loss, this is a vector with an element for each device that had a part
     * @throws HvdException that names replica, device and rows, if {@code forward} has thrown, after all devices have ended
     */
    public Tensor forward(BiFunction<? super M, Tensor, Tensor> forward, Tensor batch) {
        return forwardAll((module, part) -> List.of(forward.apply(module, part.get(0))), List.of(batch))
                .get(0);
    }

    /**
     * Does the same with several inputs, each of which is split.
     *
     * @param inputs with equal first dimensions
     */
    public Tensor forward(BiFunction<? super M, List<Tensor>, Tensor> forward, List<Tensor> inputs) {
        return forwardAll((module, parts) -> List.of(forward.apply(module, parts)), inputs)
                .get(0);
    }

    /** Does the same with several inputs and several outputs, each of which is gathered. */
    public List<Tensor> forwardAll(BiFunction<? super M, List<Tensor>, List<Tensor>> forward, List<Tensor> inputs) {
        threads.requireOpen(); // before the lock, for which a replica's thread would wait for ever
        return pass(forward, inputs);
    }

    private synchronized List<Tensor> pass(
            BiFunction<? super M, List<Tensor>, List<Tensor>> forward, List<Tensor> inputs) {
        List<Rows> rows = Rows.of(inputs, replicas.size());
        List<Replica<M>> used = replicas.subList(0, rows.size());
        threads.shareCores();
        long start = System.nanoTime();
        threads.run(used.size(), "copying the parameters to", i -> used.get(i).follow(used.get(0)));
        long copied = System.nanoTime();
        List<List<Tensor>> parts = scattered(inputs, rows);
        long scattered = System.nanoTime();
        List<List<Tensor>> outputs = threads.run(
                used.size(), i -> rows.get(i) + " on", i -> used.get(i).forward(forward, parts.get(i)));
        long computed = System.nanoTime();
        List<Tensor> gathered = gathered(outputs);
        last = new DataParallelStats(
                shares(rows, parts, outputs),
                bytes(gathered),
                copied - start,
                scattered - copied,
                computed - scattered,
                System.nanoTime() - computed);
        parts.forEach(part -> part.forEach(Tensor::close));
        outputs.forEach(output -> output.forEach(Tensor::close));
        return gathered;
    }

    private List<List<Tensor>> scattered(List<Tensor> inputs, List<Rows> rows) {
        List<List<Tensor>> parts = new ArrayList<>();
        for (int i = 0; i < rows.size(); i++) {
            Replica<M> replica = replicas.get(i);
            Rows own = rows.get(i);
            parts.add(inputs.stream()
                    .map(input -> replica.onDevice(input.narrow(0, own.first(), own.count())))
                    .toList());
        }
        return parts;
    }

    /** Concatenates each of the outputs over the replicas. */
    private List<Tensor> gathered(List<List<Tensor>> outputs) {
        List<Tensor> gathered = new ArrayList<>();
        for (int k = 0; k < outputs.get(0).size(); k++) {
            List<Tensor> pieces = new ArrayList<>();
            for (int i = 0; i < outputs.size(); i++) {
                Tensor piece = outputs.get(i).get(k);
                pieces.add(replicas.get(0).onDevice(piece.dim() == 0 ? piece.unsqueeze(0) : piece));
            }
            gathered.add(joined(k, pieces));
        }
        return gathered;
    }

    /** @param k number of the output, for the message */
    private static Tensor joined(int k, List<Tensor> pieces) {
        if (pieces.size() == 1) {
            return new Tensor(pieces.get(0));
        }
        try {
            return torch.cat(new TensorVector(pieces.toArray(Tensor[]::new)));
        } catch (RuntimeException e) {
            throw new HvdException(
                    ErrorId.BAD_ARGUMENT,
                    "DataParallel: output " + k + " cannot be gathered, its shapes by replica are "
                            + pieces.stream().map(TensorViews::shape).toList()
                            + ", expected ones that differ in the first dimension only",
                    e);
        }
    }

    private List<Share> shares(List<Rows> rows, List<List<Tensor>> parts, List<List<Tensor>> outputs) {
        List<Share> shares = new ArrayList<>();
        for (int i = 0; i < rows.size(); i++) {
            Replica<M> replica = replicas.get(i);
            shares.add(new Share(
                    replica.device(),
                    rows.get(i).count(),
                    replica.stateBytes(),
                    bytes(parts.get(i)),
                    bytes(outputs.get(i))));
        }
        return shares;
    }

    private static long bytes(List<Tensor> tensors) {
        return tensors.stream().mapToLong(Tensor::nbytes).sum();
    }

    /** Ends the devices' threads. The modules stay. */
    @Override
    public void close() {
        threads.close();
    }

    /** The neighbouring rows of a batch that a replica gets. */
    private record Rows(long first, long count) {
        /** Deals rows as torch's {@code chunk}: all parts but the last have the same number. */
        static List<Rows> of(List<Tensor> inputs, int parts) {
            long all = common(inputs);
            long each = Math.max(1, (all + parts - 1) / parts);
            List<Rows> rows = new ArrayList<>();
            for (long first = 0; first < all || rows.isEmpty(); first += each) {
                rows.add(new Rows(first, Math.min(each, all - first)));
            }
            return rows;
        }

        private static long common(List<Tensor> inputs) {
            if (inputs.isEmpty()) {
                throw new HvdException(ErrorId.BAD_ARGUMENT, "DataParallel: no input, expected at least one");
            }
            for (int i = 0; i < inputs.size(); i++) {
                boolean scalar = inputs.get(i).dim() == 0;
                if (scalar || inputs.get(i).size(0) != inputs.get(0).size(0)) {
                    throw new HvdException(
                            ErrorId.BAD_ARGUMENT,
                            "DataParallel: input " + i + " has shape " + TensorViews.shape(inputs.get(i))
                                    + ", expected "
                                    + (scalar
                                            ? "at least one dimension, along which it is split"
                                            : inputs.get(0).size(0) + " rows as input 0 has"));
                }
            }
            return inputs.get(0).size(0);
        }

        @Override
        public String toString() {
            return count == 0 ? "no rows" : "rows " + first + " to " + (first + count - 1);
        }
    }
}
