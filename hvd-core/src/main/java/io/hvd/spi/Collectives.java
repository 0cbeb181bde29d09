package io.hvd.spi;

import io.hvd.tensor.DType;
import io.hvd.tensor.Device;
import io.hvd.tensor.Tensor;
import java.util.List;
import java.util.Optional;

/**
 * The data plane. Every rank makes the same calls in the same order with agreed types and sizes, all
 * of them on the communication thread; a call returns when the outputs may be read.
 *
 * <p>A call is handed the list of the batch's tensors. A back end may pack them into one buffer or
 * stream them chunk by chunk without one. What it cannot do it says beforehand: the engine asks one
 * of the {@code refuses} methods ahead of every call. The answer depends on nothing but what the
 * ranks have agreed on, so it is the same everywhere and fails the operation only; an exception out
 * of the call itself ends the job.
 */
public interface Collectives {
    /** Whether tensors on such a device can be handed over at all. */
    default boolean reaches(Device.Kind device) {
        return device == Device.Kind.CPU;
    }

    /** Why such an allreduce cannot be carried out; empty if it can. */
    default Optional<String> refusesAllreduce(Device.Kind device, DType dtype, Reduction reduction) {
        return unreached(device);
    }

    /** Why an allgather on such a device cannot be carried out; empty if it can. */
    default Optional<String> refusesAllgather(Device.Kind device) {
        return unreached(device);
    }

    /** Why a broadcast on such a device cannot be carried out; empty if it can. */
    default Optional<String> refusesBroadcast(Device.Kind device) {
        return unreached(device);
    }

    /**
     * Reduces every tensor over the ranks. Inputs are only read, unless the output is the same tensor.
     *
     * @param inputs of one element type and on one kind of device
     */
    void allreduce(List<Tensor> inputs, List<Tensor> outputs, Reduction reduction);

    /**
     * Concatenates the ranks' inputs in rank order.
     *
     * @param elements number of elements that each rank brings, by rank
     */
    void allgather(Tensor input, Tensor output, long[] elements);

    /** Copies the root's inputs to the outputs of every rank, the root's own included. */
    void broadcast(List<Tensor> inputs, List<Tensor> outputs, int root);

    private Optional<String> unreached(Device.Kind device) {
        return reaches(device) ? Optional.empty() : Optional.of("it reaches no tensors on " + device);
    }
}
