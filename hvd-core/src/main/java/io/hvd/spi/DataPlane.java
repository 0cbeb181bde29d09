package io.hvd.spi;

import io.hvd.tensor.DType;
import io.hvd.tensor.Device;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.util.Optional;

/**
 * What an engine asks of a process set's collectives. All calls are made on the communication thread, but for what
 * {@link #takesAnyThread} allows. Where a call names a device, {@code cuda:n} is each rank's n-th GPU of its own, whatever
 * its place among those that the rank sees.
 *
 * <p>What a back end cannot do it says beforehand: the engine asks {@link #refuses} ahead of every call. The answer depends
 * on nothing but what the ranks have agreed on, so it is the same everywhere and fails the operation only; an exception out
 * of the call itself ends the job.
 */
public interface DataPlane extends Collectives, VetoableAllreduce {
    /** Why such an operation cannot be carried out; empty if it can. */
    Optional<String> refuses(OpKind kind, Device device, DType dtype, Reduction how);

    /** The answer of {@link #refuses} for a device that is out of reach. */
    static Optional<String> outOfReach(Device device) {
        String place = device.index() == 0 ? device.kind().toString() : "GPU " + device.index() + " of a rank";
        return Optional.of("it reaches no tensors on " + place);
    }

    /** The answer of {@link #refuses} where all that lies in the host's memory is taken, and nothing else. */
    static Optional<String> onlyOnHost(Device device) {
        return device.isCpu() ? Optional.empty() : outOfReach(device);
    }

    /** A new tensor for what an operation gives out, on this rank's device of that kind. */
    Tensor output(Device device, DType dtype, Shape shape);

    /** Whether {@link #allreduceUnlessVetoed} may be called on any thread, by one at a time, for tensors on such a device. */
    boolean takesAnyThread(Device device);

    /** The collectives of this set that leave the caller to other things meanwhile. */
    BegunCollectives begun();
}
