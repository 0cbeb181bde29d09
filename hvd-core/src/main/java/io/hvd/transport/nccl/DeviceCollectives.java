package io.hvd.transport.nccl;

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

/** Passes tensors on the CPU to the host's collectives, and tensors on a GPU to the collectives of that GPU. */
final class DeviceCollectives implements DataPlane {
    private static final Reduction BALLOT = new Reduction(ReduceOp.SUM, DType.FLOAT32, 1, 1);

    private final DataPlane host;
    /** The collectives by GPU: entry n connects the n-th GPUs of all ranks. */
    private final List<PerGpu> perGpu;

    private Collectives last;

    DeviceCollectives(DataPlane host, List<PerGpu> perGpu) {
        this.host = host;
        this.perGpu = List.copyOf(perGpu);
        this.last = host;
    }

    /**
     * The collectives of one GPU of the rank.
     *
     * @param staged the collectives for types that {@code data} cannot reduce
     */
    record PerGpu(RankGpu gpu, Collectives data, Collectives staged) {
        /** Uses NCCL, and goes through the host for types that NCCL does not have. */
        static PerGpu byNccl(RankGpu gpu, NcclCollectives nccl, StagedCollectives staged) {
            return new PerGpu(gpu, nccl, staged);
        }

        static PerGpu throughHost(RankGpu gpu, StagedCollectives staged) {
            return new PerGpu(gpu, staged, staged);
        }

        Collectives way(Reduction how) {
            return NcclCollectives.reduces(how) ? data : staged;
        }
    }

    private PerGpu of(Tensor tensor) {
        for (PerGpu each : perGpu) {
            if (each.gpu().device().equals(tensor.device())) {
                return each;
            }
        }
        throw new HvdException(
                ErrorId.BAD_ARGUMENT,
                tensor + " was handed over, but this rank has "
                        + perGpu.stream().map(each -> each.gpu().device()).toList());
    }

    /** The collectives for a tensor; the same choice on all ranks. */
    private Collectives way(Tensor tensor) {
        last = tensor.device().isCpu() ? host : of(tensor).data();
        return last;
    }

    private Collectives way(Tensor tensor, Reduction how) {
        last = tensor.device().isCpu() ? host : of(tensor).way(how);
        return last;
    }

    @Override
    public void report(Activities to) {
        host.report(to);
        for (PerGpu each : perGpu) {
            each.data().report(to);
            each.staged().report(to);
        }
    }

    @Override
    public Optional<String> refuses(OpKind kind, Device device, DType dtype, Reduction how) {
        if (device.isCpu()) {
            return host.refuses(kind, device, dtype, how);
        }
        return device.index() < perGpu.size() ? Optional.empty() : DataPlane.outOfReach(device);
    }

    /** Collectives that are begun work on host memory only. */
    @Override
    public BegunCollectives begun() {
        return host.begun();
    }

    @Override
    public Tensor output(Device device, DType dtype, Shape shape) {
        return device.isCpu()
                ? host.output(device, dtype, shape)
                : perGpu.get(device.index()).gpu().output(dtype, shape);
    }

    @Override
    public Tensor filled(Device device, Tensor element, Shape shape) {
        return device.isCpu()
                ? host.filled(device, element, shape)
                : perGpu.get(device.index()).gpu().filled(element, shape);
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
    public Levels levels() {
        return Levels.none("NCCL's communicators for it are made at init");
    }

    @Override
    public boolean takesAnyThread(Device device) {
        return device.isCpu() && host.takesAnyThread(device);
    }

    /** For tensors on GPUs the ranks first vote on the host, where a message costs less than a look into GPU memory. */
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
    public void allreduceNeutral(List<Tensor> neutral, Reduction how) {
        if (way(neutral.get(0), how) instanceof NcclCollectives nccl) {
            nccl.allreduceNeutral(neutral, how);
        } else if (last == host) {
            host.allreduceNeutral(neutral, how);
        } else {
            last.allreduce(neutral, neutral, how.prescaled());
        }
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

    /**
     * Closes only the part on GPUs. It is called for the set of all ranks, whose host part belongs to the host back end
     * and is closed there.
     */
    void leaveGpus() {
        perGpu.forEach(each -> each.data().close());
    }

    @Override
    public void abandon() {
        perGpu.forEach(each -> each.data().abandon());
        host.abandon();
    }
}
