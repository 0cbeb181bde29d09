package io.hvd.backend.hybrid;

import io.hvd.spi.Activities;
import io.hvd.spi.Collectives;
import io.hvd.spi.DataPlane;
import io.hvd.spi.Reduction;
import io.hvd.spi.VetoableAllreduce;
import io.hvd.tensor.Device;
import io.hvd.tensor.Tensor;
import java.util.List;

/** The data plane between all processes, called by the carrier while the thread that asks waits. */
final class CarriedCollectives implements Collectives, VetoableAllreduce {
    private final DataPlane processes;
    private final Carrier carrier;

    CarriedCollectives(DataPlane processes, Carrier carrier) {
        this.processes = processes;
        this.carrier = carrier;
    }

    private void carry(Runnable call) {
        carrier.call(() -> {
            call.run();
            return null;
        });
    }

    @Override
    public void report(Activities to) {
        processes.report(to);
    }

    @Override
    public boolean takesVetoes(Device device) {
        return processes.takesVetoes(device);
    }

    @Override
    public void allreduce(List<Tensor> inputs, List<Tensor> outputs, Reduction how) {
        carry(() -> processes.allreduce(inputs, outputs, how));
    }

    @Override
    public boolean allreduceUnlessVetoed(List<Tensor> inputs, List<Tensor> outputs, Reduction how) {
        return carrier.call(() -> processes.allreduceUnlessVetoed(inputs, outputs, how));
    }

    @Override
    public void vetoAllreduce(Device device, long elements, Reduction how) {
        carry(() -> processes.vetoAllreduce(device, elements, how));
    }

    @Override
    public void allgather(Tensor input, Tensor output, long[] elements) {
        carry(() -> processes.allgather(input, output, elements));
    }

    @Override
    public void broadcast(List<Tensor> inputs, List<Tensor> outputs, int root) {
        carry(() -> processes.broadcast(inputs, outputs, root));
    }

    @Override
    public void alltoall(Tensor input, Tensor output, long[] sent, long[] received, long longest) {
        carry(() -> processes.alltoall(input, output, sent, received, longest));
    }

    @Override
    public void reduceScatter(Tensor input, Tensor output, long[] elements, Reduction how) {
        carry(() -> processes.reduceScatter(input, output, elements, how));
    }

    @Override
    public void reduce(Tensor input, Tensor output, Reduction how, int root) {
        carry(() -> processes.reduce(input, output, how, root));
    }

    @Override
    public void gather(Tensor input, Tensor output, long[] elements, int root) {
        carry(() -> processes.gather(input, output, elements, root));
    }

    @Override
    public void scatter(Tensor input, Tensor output, long[] elements, int root) {
        carry(() -> processes.scatter(input, output, elements, root));
    }

    @Override
    public void send(Tensor tensor, int to) {
        throw new UnsupportedOperationException("ranks send to ranks, not processes to processes");
    }

    @Override
    public void receive(Tensor tensor, int from) {
        throw new UnsupportedOperationException("ranks receive from ranks, not processes from processes");
    }

    @Override
    public Completion completion() {
        return null; // what goes between processes lies in the host's memory
    }

    @Override
    public void abandon() {
        // The carrier's thread may be inside a call; the end of the job ends that.
    }

    @Override
    public void close() {
        // These are the collectives of all processes, which end with their back end.
    }
}
