package io.hvd.spi;

import io.hvd.tensor.Tensor;
import java.util.List;

/**
 * The collectives of one process set. Every member makes the same calls in the same order with agreed types and sizes.
 * When a call returns, the outputs may be read, unless it leaves a {@link Completion}. Ranks are numbered within the
 * set here, and arrays of counts are indexed by these numbers.
 *
 * <p>Calls that take a list receive the tensors of a batch, which may be packed into one buffer or streamed chunk by
 * chunk without one. No method has a default: a class that passes calls on to another implementation states for each of
 * them what it does.
 */
public interface Collectives extends PointToPoint {
    /**
     * Reduces every tensor over the ranks. Inputs are not changed, unless the output is the same tensor.
     *
     * @param inputs tensors of one element type and on one kind of device
     * @param outputs one for each input, of the same shape
     */
    void allreduce(List<Tensor> inputs, List<Tensor> outputs, Reduction how);

    /**
     * Concatenates the ranks' inputs in rank order.
     *
     * @param elements number of elements from each rank
     */
    void allgather(Tensor input, Tensor output, long[] elements);

    /** Copies the root's inputs to the outputs of every rank, including the root's own. */
    void broadcast(List<Tensor> inputs, List<Tensor> outputs, int root);

    /**
     * Gives every rank a piece of every input. On both sides the pieces lie one behind the other, in rank order.
     *
     * @param sent number of elements for each rank
     * @param received number of elements from each rank
     * @param longest number of elements of the largest piece between any two ranks
     */
    void alltoall(Tensor input, Tensor output, long[] sent, long[] received, long longest);

    /**
     * Reduces over the ranks, and gives each rank its own piece of the result.
     *
     * @param elements number of elements for each rank
     */
    void reduceScatter(Tensor input, Tensor output, long[] elements, Reduction how);

    /**
     * Reduces to one rank.
     *
     * @param output null on all ranks but the root
     */
    void reduce(Tensor input, Tensor output, Reduction how, int root);

    /**
     * Concatenates the ranks' inputs in rank order, as {@link #allgather} does, on one rank.
     *
     * @param output null on all ranks but the root
     */
    void gather(Tensor input, Tensor output, long[] elements, int root);

    /**
     * Gives every rank its piece of the root's tensor.
     *
     * @param input null on all ranks but the root
     * @param elements number of elements for each rank
     */
    void scatter(Tensor input, Tensor output, long[] elements, int root);

    /**
     * The work that the last call has left to a device, or null if there is none. Until it is done, outputs must not be
     * read and inputs must not be changed.
     */
    Completion completion();

    /** Work that goes on after a call has returned, on a device or between the ranks. */
    interface Completion {
        /** Whether the work is done; throws if it has failed. */
        boolean isDone();
    }
}
