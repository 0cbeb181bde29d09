package io.hvd.spi;

import io.hvd.spi.Collectives.Completion;
import io.hvd.tensor.Tensor;
import java.util.List;

/**
 * Collectives that return before they are done. They make progress whenever they are asked whether they are done.
 * Several may be under way, which all ranks begin in the same order; all of them must be done before anything else is
 * called on the set. All tensors are direct buffers.
 */
public interface BegunCollectives {
    /** Begins to reduce one tensor in place. */
    Completion beginAllreduce(Tensor tensor, Reduction how);

    /**
     * Begins an allgather.
     *
     * @param input this rank's own part of the output
     * @param elements number of elements from each rank
     */
    Completion beginAllgather(Tensor input, Tensor output, long[] elements);

    /** Begins to copy the root's tensor over those of all ranks. */
    Completion beginBroadcast(Tensor tensor, int root);

    /** Begins an alltoall; the parameters are those of {@link Collectives#alltoall}. */
    Completion beginAlltoall(Tensor input, Tensor output, long[] sent, long[] received, long longest);

    /** Collectives for a data plane without such calls: each is done when the call returns. */
    static BegunCollectives atOnce(Collectives collectives) {
        return new BegunCollectives() {
            @Override
            public Completion beginAllreduce(Tensor tensor, Reduction how) {
                collectives.allreduce(List.of(tensor), List.of(tensor), how);
                return () -> true;
            }

            @Override
            public Completion beginAllgather(Tensor input, Tensor output, long[] elements) {
                collectives.allgather(input, output, elements);
                return () -> true;
            }

            @Override
            public Completion beginBroadcast(Tensor tensor, int root) {
                collectives.broadcast(List.of(tensor), List.of(tensor), root);
                return () -> true;
            }

            @Override
            public Completion beginAlltoall(Tensor input, Tensor output, long[] sent, long[] received, long longest) {
                collectives.alltoall(input, output, sent, received, longest);
                return () -> true;
            }
        };
    }
}
