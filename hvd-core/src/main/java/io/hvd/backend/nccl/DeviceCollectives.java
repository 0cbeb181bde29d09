package io.hvd.backend.nccl;

import io.hvd.spi.Activities;
import io.hvd.spi.Collectives;
import io.hvd.spi.OpKind;
import io.hvd.spi.Reduction;
import io.hvd.tensor.DType;
import io.hvd.tensor.Device;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.util.List;
import java.util.Optional;

/** Tensors on the CPU go the host's way, tensors on GPUs their own. */
final class DeviceCollectives implements Collectives {
    private static final Reduction BALLOT = new Reduction(ReduceOp.SUM, DType.FLOAT32, 1, 1);

    private final RankGpu device;
    private final Collectives host;
    private final Collectives gpu;
    /** For what {@code gpu} cannot combine. */
    private final Collectives staged;

    private final boolean combinesAll;
    private Collectives last;

    private DeviceCollectives(
            RankGpu device, Collectives host, Collectives gpu, Collectives staged, boolean combinesAll) {
        this.device = device;
        this.host = host;
        this.gpu = gpu;
        this.staged = staged;
        this.combinesAll = combinesAll;
        this.last = host;
    }

    /** By NCCL, and through the host what it has no type for. */
    static DeviceCollectives byNccl(RankGpu device, Collectives host, NcclCollectives nccl, StagedCollectives staged) {
        return new DeviceCollectives(device, host, nccl, staged, false);
    }

    static DeviceCollectives throughHost(RankGpu device, Collectives host, StagedCollectives staged) {
        return new DeviceCollectives(device, host, staged, staged, true);
    }

    /** The way of a tensor; the same on all ranks. */
    private Collectives way(Tensor tensor) {
        last = tensor.device().isCpu() ? host : gpu;
        return last;
    }

    private Collectives way(Tensor tensor, Reduction how) {
        boolean bypass = !tensor.device().isCpu() && !combinesAll && !NcclCollectives.reduces(how);
        last = bypass ? staged : way(tensor);
        return last;
    }

    @Override
    public void report(Activities to) {
        host.report(to);
        gpu.report(to);
        staged.report(to);
    }

    @Override
    public boolean reaches(Device.Kind device) {
        return device == Device.Kind.CUDA || host.reaches(device);
    }

    @Override
    public Optional<String> refuses(OpKind kind, Device.Kind device, DType dtype, Reduction how) {
        return device == Device.Kind.CUDA ? Optional.empty() : host.refuses(kind, device, dtype, how);
    }

    @Override
    public Tensor output(Device.Kind kind, DType dtype, Shape shape) {
        return kind == Device.Kind.CUDA ? device.output(dtype, shape) : host.output(kind, dtype, shape);
    }

    @Override
    public Completion completion() {
        return last.completion();
    }

    @Override
    public boolean takesVetoes(Device.Kind device) {
        return host.takesVetoes(Device.Kind.CPU);
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
    public void vetoAllreduce(Device.Kind device, long elements, Reduction how) {
        if (device == Device.Kind.CPU) {
            host.vetoAllreduce(device, elements, how);
        } else {
            host.vetoAllreduce(Device.Kind.CPU, 0, BALLOT);
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
        gpu.close();
    }

    @Override
    public void abandon() {
        gpu.abandon();
        host.abandon();
    }
}
