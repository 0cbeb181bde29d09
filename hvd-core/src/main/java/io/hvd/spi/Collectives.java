package io.hvd.spi;

import io.hvd.tensor.DType;
import io.hvd.tensor.Device;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.util.List;
import java.util.Optional;

/**
 * The data plane of one process set. Every member makes the same calls in the same order with agreed
 * types and sizes, all of them on the communication thread but for what {@link #takesAnyThread}; a call returns when the outputs may be
 * read, or leaves a {@link Completion} behind. Ranks are numbered within the set here, and arrays of
 * counts go by these numbers. Where a call names a device, {@code cuda:n} is each rank's n-th GPU of its own,
 * whatever its place among those that the rank sees.
 *
 * <p>Some calls are handed the list of a batch's tensors. A back end may pack them into one buffer or
 * stream them chunk by chunk without one. What it cannot do it says beforehand: the engine asks
 * {@link #refuses} ahead of every call. The answer depends on nothing but what the ranks have agreed
 * on, so it is the same everywhere and fails the operation only; an exception out of the call itself
 * ends the job.
 */
public interface Collectives extends AutoCloseable {
    /** From here on the data plane tells what it is doing; one that has nothing to tell need not. */
    default void report(Activities to) {}

    /** Whether tensors on such a device can be handed over at all. */
    default boolean reaches(Device device) {
        return device.isCpu();
    }

    /** Why such an operation cannot be carried out; empty if it can. */
    default Optional<String> refuses(OpKind kind, Device device, DType dtype, Reduction how) {
        String place = device.index() == 0 ? device.kind().toString() : "GPU " + device.index() + " of a rank";
        return reaches(device) ? Optional.empty() : Optional.of("it reaches no tensors on " + place);
    }

    /** A new tensor for what an operation gives out, on this rank's device of that kind. */
    default Tensor output(Device device, DType dtype, Shape shape) {
        return Tensor.zeros(dtype, shape);
    }

    /**
     * Reduces every tensor over the ranks. Inputs are only read, unless the output is the same tensor.
     *
     * @param inputs of one element type and on one kind of device
     */
    void allreduce(List<Tensor> inputs, List<Tensor> outputs, Reduction how);

    /**
     * Begins to reduce one tensor in place, and leaves the caller to other things meanwhile; it moves on whenever it is
     * asked whether it is done, or is done when the call returns. Several may be under way, which all ranks begin in the same order; before anything else
     * is called they must be done.
     *
     * @param tensor in a direct buffer, as are those of all that is begun
     */
    default Completion beginAllreduce(Tensor tensor, Reduction how) {
        allreduce(List.of(tensor), List.of(tensor), how);
        return () -> true;
    }

    /**
     * Begins an allgather; otherwise like {@link #beginAllreduce}.
     *
     * @param input this rank's own part of the output
     */
    default Completion beginAllgather(Tensor input, Tensor output, long[] elements) {
        allgather(input, output, elements);
        return () -> true;
    }

    /** Begins to copy the root's tensor over those of all ranks; otherwise like {@link #beginAllreduce}. */
    default Completion beginBroadcast(Tensor tensor, int root) {
        broadcast(List.of(tensor), List.of(tensor), root);
        return () -> true;
    }

    /** Begins an alltoall; otherwise like {@link #beginAllreduce}. */
    default Completion beginAlltoall(Tensor input, Tensor output, long[] sent, long[] received, long longest) {
        alltoall(input, output, sent, received, longest);
        return () -> true;
    }

    /** Whether {@link #allreduceUnlessVetoed} is there for tensors on such a device. */
    default boolean takesVetoes(Device device) {
        return false;
    }

    /** Whether {@link #allreduceUnlessVetoed} may be called on any thread, by one at a time, for tensors on such a device. */
    default boolean takesAnyThread(Device device) {
        return false;
    }

    /**
     * Like {@link #allreduce}, but if a rank calls {@link #vetoAllreduce} instead, nothing is written
     * to any output. The question travels with the first of the data, so that it costs no message.
     *
     * @return false if somebody has vetoed
     */
    default boolean allreduceUnlessVetoed(List<Tensor> inputs, List<Tensor> outputs, Reduction how) {
        throw new UnsupportedOperationException("no vetoes on this back end");
    }

    /**
     * Takes part in the allreduce into which the other ranks go, so that it fails for all of them.
     *
     * @param device where its tensors lie
     * @param elements number of elements of all its tensors
     */
    default void vetoAllreduce(Device device, long elements, Reduction how) {
        throw new UnsupportedOperationException("no vetoes on this back end");
    }

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
    default Completion completion() {
        return null;
    }

    /** Work that goes on meanwhile, on a device or between the ranks. */
    interface Completion {
        /** Throws if the work has failed. */
        boolean isDone();
    }

    /** Gives up what is under way, because the job has failed; nobody else need come. */
    default void abandon() {}

    /** Gives back what belongs to this set alone; every member calls it. */
    @Override
    default void close() {}
}
