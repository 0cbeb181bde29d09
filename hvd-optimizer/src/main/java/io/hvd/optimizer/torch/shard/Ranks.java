package io.hvd.optimizer.torch.shard;

import io.hvd.AllreduceOptions;
import io.hvd.Handle;
import io.hvd.ProcessSet;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.torch.memory.TensorViews;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import org.bytedeco.pytorch.Tensor;

/**
 * The ranks that share the parameters, and the names of their collectives.
 *
 * @param scope what the names begin with, so that several FullyShards do not meet
 */
public record Ranks(ProcessSet set, String scope) {
    /** The ranks of a set, for one more FullyShard. */
    public static Ranks of(ProcessSet set) {
        return new Ranks(set, "fully_shard." + set.forOptimizers().numberOf("fully shard") + ".");
    }

    public int size() {
        return set.size();
    }

    int rank() {
        return set.rank();
    }

    boolean areSeveral() {
        return set.size() > 1;
    }

    /** This rank and how many there are, for messages. */
    String here() {
        return "rank " + set.rank() + " of " + set.size();
    }

    Handle gather(String name, Tensor mine, Tensor whole) {
        return anyOrder(() -> set.allgatherIntoAsync(scope + name, alias(name, mine), alias(name, whole)));
    }

    Handle reduce(String name, Tensor whole, Tensor mine) {
        return anyOrder(() -> set.reducescatterIntoAsync(
                scope + name, alias(name, whole), alias(name, mine), AllreduceOptions.average()));
    }

    /** Overwrites the tensor with the root's. @param root place in the set */
    void broadcast(String name, Tensor whole, int root) {
        if (areSeveral()) {
            set.broadcastInPlace(scope + name, alias(name, whole), set.ranks().get(root));
        }
    }

    /** Each backward pass may come to the units in an order of its own. */
    private Handle anyOrder(Supplier<Handle> call) {
        AtomicReference<Handle> handle = new AtomicReference<>();
        set.forOptimizers().inAnyOrder(() -> handle.set(call.get()));
        return handle.get();
    }

    /** Waits for a result, which must be in the tensor that was given for it. */
    static void await(Handle handle, String unit, io.hvd.tensor.Tensor given) {
        io.hvd.tensor.Tensor result = handle.synchronize();
        if (!result.shape().equals(given.shape())) {
            throw new HvdException(
                    ErrorId.STATE_MISMATCH,
                    "\"" + handle.name() + "\" of unit \"" + unit + "\": the ranks have shards of different sizes,"
                            + " altogether " + result.shape() + ", expected " + given.shape());
        }
    }

    /** Releases tensors when an operation has ended that may still touch them. @param handle null if there is none */
    static void whenDone(Handle handle, List<Tensor> tensors) {
        if (handle == null) {
            tensors.forEach(Tensor::releaseReference);
        } else {
            handle.whenDone(() -> tensors.forEach(Tensor::releaseReference));
        }
    }

    static io.hvd.tensor.Tensor alias(String name, Tensor tensor) {
        return TensorViews.alias(name, tensor);
    }
}
