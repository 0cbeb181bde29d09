package io.hvd.backend.nccl;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.spi.Backend;
import io.hvd.spi.Reduction;
import io.hvd.tensor.DType;
import io.hvd.tensor.Device;
import io.hvd.tensor.DeviceMemory;
import io.hvd.tensor.Tensor;
import java.util.List;
import java.util.stream.Stream;

/**
 * A rank's GPU among those of the others: a communicator, a stream of its own and one event.
 *
 * <p>A collective starts on the device behind what the user had queued on the tensors' streams when it
 * is carried out, and the communication thread waits until the device has finished. To hand the wait
 * over to the user's streams is left for later. A failed call ends the job, so nothing is undone here.
 *
 * <p>Used on the communication thread only.
 */
final class NcclCommunicator {
    private final NcclCalls nccl;
    private final Device device;
    private final long communicator;
    private final long stream;
    private final long event;

    private NcclCommunicator(NcclCalls nccl, Device device, long communicator) {
        this.nccl = nccl;
        this.device = device;
        this.communicator = communicator;
        this.stream = nccl.createStream();
        this.event = nccl.createEvent();
    }

    /** Rank 0 makes the unique id and the control plane takes it to the others. */
    static NcclCommunicator join(NcclCalls nccl, Backend control, Device device) {
        int rank = control.topology().rank();
        nccl.selectDevice(device.index());
        byte[] id = control.exchange(rank == 0 ? nccl.uniqueId() : new byte[0]).get(0);
        return new NcclCommunicator(
                nccl, device, nccl.join(id, control.topology().size(), rank));
    }

    void allreduce(List<Tensor> inputs, List<Tensor> outputs, Reduction how) {
        double factor = how.prescale() * how.postscale();
        if (factor == 1) {
            reduce(inputs, outputs, nccl.operator(how.op().arithmeticOn(how.wire())));
            return;
        }
        int scaledSum = nccl.createScaledSum(factor, inputs.get(0).dtype(), communicator);
        reduce(inputs, outputs, scaledSum);
        nccl.destroyOperator(scaledSum, communicator);
    }

    void broadcast(List<Tensor> inputs, List<Tensor> outputs, int root) {
        inOneGroup(
                inputs,
                outputs,
                (from, to, count, type) -> nccl.broadcast(from, to, count, type, root, communicator, stream));
    }

    /** Every rank leaves. */
    void close() {
        nccl.leave(communicator);
        nccl.destroyEvent(event);
        nccl.destroyStream(stream);
    }

    private void reduce(List<Tensor> inputs, List<Tensor> outputs, int operator) {
        inOneGroup(
                inputs,
                outputs,
                (from, to, count, type) -> nccl.allReduce(from, to, count, type, operator, communicator, stream));
    }

    private void inOneGroup(List<Tensor> inputs, List<Tensor> outputs, Step step) {
        awaitUsers(inputs, outputs);
        nccl.groupStart();
        for (int i = 0; i < inputs.size(); i++) {
            Tensor input = inputs.get(i);
            if (input.elements() > 0) {
                step.queue(memory(input).address(), memory(outputs.get(i)).address(), input.elements(), input.dtype());
            }
        }
        nccl.groupEnd();
        nccl.waitFor(stream);
    }

    /** Orders our stream behind the users' streams; the event may be recorded anew once it is waited for. */
    private void awaitUsers(List<Tensor> inputs, List<Tensor> outputs) {
        Stream.concat(inputs.stream(), outputs.stream())
                .mapToLong(tensor -> memory(tensor).stream())
                .distinct()
                .forEach(user -> {
                    nccl.recordEvent(event, user);
                    nccl.holdUntil(stream, event);
                });
    }

    private DeviceMemory memory(Tensor tensor) {
        if (tensor.memory() instanceof DeviceMemory memory && memory.device().equals(device)) {
            return memory;
        }
        throw new HvdException(
                ErrorId.BAD_ARGUMENT, tensor + " was handed over, but this rank's communicator is on " + device);
    }

    /** One tensor's part of a group. */
    private interface Step {
        void queue(long from, long to, long count, DType type);
    }
}
