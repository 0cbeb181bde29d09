package io.hvd.spi;

import io.hvd.tensor.Device;
import io.hvd.tensor.Tensor;
import java.util.List;

/** An allreduce that the ranks begin without having agreed on it, so that any of them may refuse it for all. */
public interface VetoableAllreduce {
    /**
     * Whether {@link #allreduceUnlessVetoed} may be called for tensors on such a device.
     *
     * @param device {@code cuda:n} is each rank's own n-th GPU, whatever its place among those that the rank sees
     */
    boolean takesVetoes(Device device);

    /**
     * Does as {@link Collectives#allreduce}, but writes nothing to any output if a rank calls {@link #vetoAllreduce}
     * instead. The veto travels with the first of the data, so that it costs no message of its own; for tensors on a GPU
     * the ranks vote on the host first.
     *
     * @return false if a rank has vetoed
     */
    boolean allreduceUnlessVetoed(List<Tensor> inputs, List<Tensor> outputs, Reduction how);

    /**
     * Takes part in the allreduce that the other ranks have begun, so that it fails for all of them.
     *
     * @param device the device of the allreduce's tensors
     * @param elements number of elements of all its tensors
     */
    void vetoAllreduce(Device device, long elements, Reduction how);
}
