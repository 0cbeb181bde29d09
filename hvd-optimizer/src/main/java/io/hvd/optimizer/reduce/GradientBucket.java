package io.hvd.optimizer.reduce;

import io.hvd.AllreduceOptions;
import io.hvd.AlltoallResult;
import io.hvd.Handle;
import io.hvd.ProcessSet;
import io.hvd.tensor.Tensor;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.function.Supplier;

/**
 * Gradients that travel together, in one step, with the collectives in which a {@link GradientReducer} sends them. Each of
 * these returns at once; its name is made of the bucket's and of a word that tells the collectives of a step apart. What is
 * chained to its future runs on the reducer's thread.
 */
public final class GradientBucket {
    private final String name;
    private final List<String> names;
    private final List<Tensor> tensors;
    private final long step;
    private final ProcessSet ranks;
    private final Executor thread;
    private final InFlight inFlight;

    /**
     * For {@code DistributedOptimizer}.
     *
     * @param thread runs what is chained to the futures
     * @param inFlight gets what is started
     */
    public GradientBucket(
            String name,
            List<String> names,
            List<Tensor> tensors,
            long step,
            ProcessSet ranks,
            Executor thread,
            InFlight inFlight) {
        this.name = name;
        this.names = List.copyOf(names);
        this.tensors = List.copyOf(tensors);
        this.step = step;
        this.ranks = ranks;
        this.thread = thread;
        this.inFlight = inFlight;
    }

    /** The name, the same on all ranks and in every step, and another one for each bucket of each optimizer. */
    public String name() {
        return name;
    }

    /** The names of the parameters. */
    public List<String> names() {
        return names;
    }

    /** The gradients in the host's memory, in the order of {@link #names()}, with the shapes of the parameters. */
    public List<Tensor> tensors() {
        return tensors;
    }

    /** The gradients by the names of the parameters. */
    public Map<String, Tensor> byName() {
        Map<String, Tensor> all = new LinkedHashMap<>();
        for (int i = 0; i < names.size(); i++) {
            all.put(names.get(i), tensors.get(i));
        }
        return all;
    }

    /** The number of steps before this one in which gradients were reduced, the same on all ranks. */
    public long step() {
        return step;
    }

    /** The ranks whose gradients are averaged. */
    public ProcessSet ranks() {
        return ranks;
    }

    /** This bucket with other tensors of the same number, types and shapes. */
    public GradientBucket with(List<Tensor> others) {
        return new GradientBucket(name, names, others, step, ranks, thread, inFlight);
    }

    /**
     * Averages a tensor in place.
     *
     * @param word tells the collectives of this bucket and step apart
     */
    public CompletableFuture<Tensor> average(String word, Tensor tensor) {
        return allreduce(word, tensor, AllreduceOptions.average());
    }

    /** Averages tensors in place, all in one message. @param tensors by the words that tell the collectives apart */
    public CompletableFuture<Void> average(Map<String, Tensor> tensors) {
        Map<String, Tensor> named = new LinkedHashMap<>();
        tensors.forEach((word, tensor) -> named.put(nameOf(word), tensor));
        List<Handle> handles = ranks.allreduceInPlaceAsync(named, AllreduceOptions.average());
        tensors.values().forEach(tensor -> inFlight.sent(tensor.bytes()));
        return CompletableFuture.allOf(handles.stream()
                .map(handle -> following(handle, handle::synchronize))
                .toArray(CompletableFuture<?>[]::new));
    }

    /** Reduces a tensor in place. */
    public CompletableFuture<Tensor> allreduce(String word, Tensor tensor, AllreduceOptions options) {
        Handle handle = ranks.allreduceInPlaceAsync(nameOf(word), tensor, options);
        inFlight.sent(tensor.bytes());
        return following(handle, handle::synchronize);
    }

    /** Concatenates the ranks' tensors along the first dimension, in which alone they may differ. Not for a time in which a rank has joined. */
    public CompletableFuture<Tensor> allgather(String word, Tensor tensor) {
        Handle handle = ranks.allgatherAsync(nameOf(word), tensor);
        inFlight.sent(tensor.bytes());
        return following(handle, handle::synchronize);
    }

    /**
     * Sends each rank its rows of a tensor. Not for a time in which a rank has joined.
     *
     * @param splits number of rows for each rank
     */
    public CompletableFuture<AlltoallResult> alltoall(String word, Tensor tensor, int... splits) {
        Handle handle = ranks.alltoallAsync(nameOf(word), tensor, splits);
        inFlight.sent(tensor.bytes());
        return following(handle, handle::received);
    }

    private String nameOf(String word) {
        return name + "." + Objects.requireNonNull(word, "word");
    }

    private <T> CompletableFuture<T> following(Handle handle, Supplier<T> result) {
        CompletableFuture<T> future = new CompletableFuture<>();
        inFlight.started(handle);
        handle.poll(); // announces it
        handle.whenDone(() -> thread.execute(() -> complete(future, result)));
        return future;
    }

    private static <T> void complete(CompletableFuture<T> future, Supplier<T> result) {
        T value;
        try {
            value = result.get();
        } catch (RuntimeException e) {
            future.completeExceptionally(e);
            return;
        }
        future.complete(value);
    }

    /** Gets what a bucket has started. */
    public interface InFlight {
        /** A collective has been started. */
        void started(Handle handle);

        /** A collective has got this number of bytes. */
        void sent(long bytes);
    }
}
