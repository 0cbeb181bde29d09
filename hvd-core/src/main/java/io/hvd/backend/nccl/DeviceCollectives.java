package io.hvd.backend.nccl;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.spi.Activities;
import io.hvd.spi.BegunCollectives;
import io.hvd.spi.Collectives;
import io.hvd.spi.DataPlane;
import io.hvd.spi.OpKind;
import io.hvd.spi.Reduction;
import io.hvd.tensor.DType;
import io.hvd.tensor.Device;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.util.List;
import java.util.Optional;

/** Tensors on the CPU go the host's way, tensors on each of the rank's GPUs their own. */
final class DeviceCollectives implements DataPlane {
    private static final Reduction BALLOT = new Reduction(ReduceOp.SUM, DType.FLOAT32, 1, 1);

    private final DataPlane host;
    /** The n-th is of every rank's n-th GPU. */
    private final List<Lane> lanes;

    private Collectives last;

    DeviceCollectives(DataPlane host, List<Lane> lanes) {
        this.host = host;
        this.lanes = List.copyOf(lanes);
        this.last = host;
    }

    /**
     * One GPU of the rank.
     *
     * @param staged for what {@code data} cannot combine
     */
    record Lane(RankGpu gpu, Collectives data, Collectives staged) {
        /** By NCCL, and through the host what it has no type for. */
        static Lane byNccl(RankGpu gpu, NcclCollectives nccl, StagedCollectives staged) {
            return new Lane(gpu, nccl, staged);
        }

        static Lane throughHost(RankGpu gpu, StagedCollectives staged) {
            return new Lane(gpu, staged, staged);
        }

        Collectives way(Reduction how) {
            return NcclCollectives.reduces(how) ? data : staged;
        }
    }

    private Lane lane(Tensor tensor) {
        for (Lane lane : lanes) {
            if (lane.gpu().device().equals(tensor.device())) {
                return lane;
            }
        }
        throw new HvdException(
                ErrorId.BAD_ARGUMENT,
                tensor + " was handed over, but this rank has "
                        + lanes.stream().map(lane -> lane.gpu().device()).toList());
    }

    /** The way of a tensor; the same on all ranks. */
    private Collectives way(Tensor tensor) {
        last = tensor.device().isCpu() ? host : lane(tensor).data();
        return last;
    }

    private Collectives way(Tensor tensor, Reduction how) {
        last = tensor.device().isCpu() ? host : lane(tensor).way(how);
        return last;
    }

    @Override
    public void report(Activities to) {
        host.report(to);
        for (Lane lane : lanes) {
            lane.data().report(to);
            lane.staged().report(to);
        }
    }

    @Override
    public Optional<String> refuses(OpKind kind, Device device, DType dtype, Reduction how) {
        if (device.isCpu()) {
            return host.refuses(kind, device, dtype, how);
        }
        return device.index() < lanes.size() ? Optional.empty() : DataPlane.outOfReach(device);
    }

    /** Between hosts travels what lies in their memory. */
    @Override
    public BegunCollectives begun() {
        return host.begun();
    }

    @Override
    public Tensor output(Device device, DType dtype, Shape shape) {
        return device.isCpu()
                ? host.output(device, dtype, shape)
                : lanes.get(device.index()).gpu().output(dtype, shape);
    }

    @Override
    public Completion completion() {
        return last.completion();
    }

    @Override
    public boolean takesVetoes(Device device) {
        return host.takesVetoes(Device.CPU);
    }

    @Override
    public boolean takesAnyThread(Device device) {
        return device.isCpu() && host.takesAnyThread(device);
    }

    /** Between GPUs the ranks vote on the host first: a message there costs less than to look into GPU memory. */
    @Override
    public boolean allreduceUnlessVetoed(List<Tensor> inputs, List<Tensor> outputs, Reduction how) {
        if (inputs.get(0).device().isCpu()) {
            last = host;
            return host.allreduceUnlessVetoed(inputs, outputs, how);
        }
        List<Tensor> nothing = List.of(Tensor.of(new float[0]));
        boolean agreed = host.allreduceUnlessVetoed(nothing, nothing, BALLOT);
        if (agreed) {
            allreduce(inputs, outputs, how);
        }
        return agreed;
    }

    @Override
    public void vetoAllreduce(Device device, long elements, Reduction how) {
        if (device.isCpu()) {
            host.vetoAllreduce(device, elements, how);
        } else {
            host.vetoAllreduce(Device.CPU, 0, BALLOT);
        }
    }

    @Override
    public void allreduce(List<Tensor> inputs, List<Tensor> outputs, Reduction how) {
        way(inputs.get(0), how).allreduce(inputs, outputs, how);
    }

    @Override
    public void broadcast(List<Tensor> inputs, List<Tensor> outputs, int root) {
        way(inputs.get(0)).broadcast(inputs, outputs, root);
    }

    @Override
    public void allgather(Tensor input, Tensor output, long[] elements) {
        way(input).allgather(input, output, elements);
    }

    @Override
    public void alltoall(Tensor input, Tensor output, long[] sent, long[] received, long longest) {
        way(input).alltoall(input, output, sent, received, longest);
    }

    @Override
    public void reduceScatter(Tensor input, Tensor output, long[] elements, Reduction how) {
        way(input, how).reduceScatter(input, output, elements, how);
    }

    @Override
    public void reduce(Tensor input, Tensor output, Reduction how, int root) {
        way(input, how).reduce(input, output, how, root);
    }

    @Override
    public void gather(Tensor input, Tensor output, long[] elements, int root) {
        way(input).gather(input, output, elements, root);
    }

    @Override
    public void scatter(Tensor input, Tensor output, long[] elements, int root) {
        way(output).scatter(input, output, elements, root);
    }

    @Override
    public void send(Tensor tensor, int to) {
        way(tensor).send(tensor, to);
    }

    @Override
    public void receive(Tensor tensor, int from) {
        way(tensor).receive(tensor, from);
    }

    @Override
    public void close() {
        leaveGpus();
        host.close();
    }

    /** The set of all ranks: its host part is the host back end's own, which closes it. */
    void leaveGpus() {
        lanes.forEach(lane -> lane.data().close());
    }

    @Override
    public void abandon() {
        lanes.forEach(lane -> lane.data().abandon());
        host.abandon();
    }
}
