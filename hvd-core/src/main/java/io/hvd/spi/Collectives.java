package io.hvd.spi;

import io.hvd.tensor.Device;
import io.hvd.tensor.Tensor;
import java.util.List;

/**
 * The data plane. Every rank makes the same calls in the same order with agreed types and sizes, all
 * of them on the communication thread; a call returns when the outputs may be read.
 *
 * <p>A call is handed the list of the batch's tensors. A back end may pack them into one buffer or
 * stream them chunk by chunk without one.
 */
public interface Collectives {
    /** Whether tensors on such a device can be handed over; asked when the ranks have agreed on it. */
    default boolean reaches(Device.Kind device) {
        return device == Device.Kind.CPU;
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
}
