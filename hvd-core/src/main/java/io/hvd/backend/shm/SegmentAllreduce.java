package io.hvd.backend.shm;

import io.hvd.spi.Reduction;
import io.hvd.tensor.Tensor;
import java.util.List;

/** Allreduce through a segment: of one host, or of several that have as many ranks each. By one thread at a time. */
interface SegmentAllreduce {
    /** @return false if somebody has vetoed; nothing is written then */
    boolean run(List<Tensor> inputs, List<Tensor> outputs, Reduction how);

    /**
     * Takes part in the allreduce into which the others go, so that it fails for all of them.
     *
     * @param elements of all its tensors
     */
    void veto(long elements, Reduction how);
}
