package io.hvd.transport.nccl;

import io.hvd.spi.Activities;
import io.hvd.spi.Reduction;
import io.hvd.tensor.Tensor;
import java.util.List;

/** A way of an allreduce between the GPUs of a process set. Only the communication thread uses it. */
sealed interface DeviceAllreduce permits HierarchicalAllreduce, DeviceAllreduce.Flat {
    /** Its name in the timeline. */
    String activity();

    /** Queues an allreduce. @param direct true if NCCL may work on the tensors' own memory */
    void run(List<Tensor> inputs, List<Tensor> outputs, Reduction how, boolean direct);

    void report(Activities to);

    /** Throws if NCCL has noticed an error in a communicator that belongs to this way alone. */
    void requireSound();

    /** Closes the communicators that belong to this way alone; every rank calls it. */
    void close();

    /** Gives up these communicators without waiting for the other ranks. */
    void abandon();

    /** One communicator of all members, which belongs to the other collectives too. */
    record Flat(NcclReductions reductions) implements DeviceAllreduce {
        @Override
        public String activity() {
            return "NCCL_ALLREDUCE";
        }

        @Override
        public void run(List<Tensor> inputs, List<Tensor> outputs, Reduction how, boolean direct) {
            reductions.allreduce(inputs, outputs, how, direct);
        }

        @Override
        public void report(Activities to) {
            // The host does not see how long NCCL works on the device.
        }

        @Override
        public void requireSound() {
            // The owner of the communicator asks it.
        }

        @Override
        public void close() {
            // The owner of the communicator closes it.
        }

        @Override
        public void abandon() {
            // The owner of the communicator gives it up.
        }
    }
}
