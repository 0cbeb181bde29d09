package io.hvd.host.memory;

import io.hvd.spi.Reduction;
import io.hvd.tensor.Tensor;
import java.util.List;

/**
 * Allreduce through memory that ranks share, in one group or in several. One thread at a time uses it.
 */
interface SegmentAllreduce {
    /** @return false if a rank has vetoed; then no output is written */
    boolean run(List<Tensor> inputs, List<Tensor> outputs, Reduction how);

    /**
     * Takes part in the allreduce that the other ranks have begun, so that it fails for all of them.
     *
     * @param elements number of elements of all its tensors
     */
    void veto(long elements, Reduction how);
}
