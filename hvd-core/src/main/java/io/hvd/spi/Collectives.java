package io.hvd.spi;

import io.hvd.tensor.Tensor;
import java.util.List;

/**
 * The collectives of one process set. Every member makes the same calls in the same order with agreed types and sizes; a
 * call returns when the outputs may be read, or leaves a {@link Completion} behind. Ranks are numbered within the set here,
 * and arrays of counts go by these numbers.
 *
 * <p>Some calls are handed the list of a batch's tensors, which may be packed into one buffer or streamed chunk by chunk
 * without one. No method has a default: whatever passes calls on to another implementation states for each of them what
 * it does.
 */
public interface Collectives extends AutoCloseable {
    /** From here on the data plane tells what it is doing; one that has nothing to tell need not. */
    void report(Activities to);

    /**
     * Reduces every tensor over the ranks. Inputs are only read, unless the output is the same tensor.
     *
     * @param inputs of one element type and on one kind of device
     */
    void allreduce(List<Tensor> inputs, List<Tensor> outputs, Reduction how);

    /**
     * Concatenates the ranks' inputs in rank order.
     *
     * @param elements number of elements that each rank brings
     */
    void allgather(Tensor input, Tensor output, long[] elements);

    /** Copies the root's inputs to the outputs of every rank, the root's own included. */
    void broadcast(List<Tensor> inputs, List<Tensor> outputs, int root);

    /**
     * Gives every rank a piece of every input; pieces lie one behind the other, in rank order, on both
     * sides.
     *
     * @param sent number of elements for each rank
     * @param received number of elements from each rank
     * @param longest the largest piece between any two ranks
     */
    void alltoall(Tensor input, Tensor output, long[] sent, long[] received, long longest);

    /**
     * Reduces over the ranks, and leaves every rank its own piece of the result.
     *
     * @param elements number of elements that each rank gets
     */
    void reduceScatter(Tensor input, Tensor output, long[] elements, Reduction how);

    /** Reduces to one rank. @param output null but on the root */
    void reduce(Tensor input, Tensor output, Reduction how, int root);

    /** Like {@link #allgather}, to one rank. @param output null but on the root */
    void gather(Tensor input, Tensor output, long[] elements, int root);

    /** Gives every rank its piece of the root's tensor. @param input null but on the root */
    void scatter(Tensor input, Tensor output, long[] elements, int root);

    /** One half of a transfer; the rank {@code to} calls {@link #receive} at the same time. */
    void send(Tensor tensor, int to);

    void receive(Tensor tensor, int from);

    /** What the last call has left to a device: until it is done, outputs must not be read nor inputs changed. Null for nothing. */
    Completion completion();

    /** Work that goes on meanwhile, on a device or between the ranks. */
    interface Completion {
        /** Throws if the work has failed. */
        boolean isDone();
    }

    /** Gives up what is under way, because the job has failed; nobody else need come. */
    void abandon();

    /** Gives back what belongs to this set alone; every member calls it. */
    @Override
    void close();
}
