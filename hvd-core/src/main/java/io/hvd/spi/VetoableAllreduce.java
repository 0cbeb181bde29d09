package io.hvd.spi;

import io.hvd.tensor.Device;
import io.hvd.tensor.Tensor;
import java.util.List;

/** An allreduce into which the ranks go without having agreed on it, so that any of them may refuse it for all. */
public interface VetoableAllreduce {
    /**
     * Whether {@link #allreduceUnlessVetoed} is there for tensors on such a device.
     *
     * @param device {@code cuda:n} is each rank's n-th GPU of its own, whatever its place among those that the rank sees
     */
    boolean takesVetoes(Device device);

    /**
     * Like {@link Collectives#allreduce}, but if a rank calls {@link #vetoAllreduce} instead, nothing is written to any
     * output. The question travels with the first of the data, so that it costs no message.
     *
     * @return false if a rank has vetoed
     */
    boolean allreduceUnlessVetoed(List<Tensor> inputs, List<Tensor> outputs, Reduction how);

    /**
     * Takes part in the allreduce into which the other ranks go, so that it fails for all of them.
     *
     * @param device where its tensors lie
     * @param elements number of elements of all its tensors
     */
    void vetoAllreduce(Device device, long elements, Reduction how);
}
