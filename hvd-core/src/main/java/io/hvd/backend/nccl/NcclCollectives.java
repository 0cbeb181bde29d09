package io.hvd.backend.nccl;

import io.hvd.spi.Activities;
import io.hvd.spi.Collectives;
import io.hvd.spi.OpKind;
import io.hvd.spi.Reduction;
import io.hvd.tensor.DType;
import io.hvd.tensor.Device;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Tensor;
import java.util.List;
import java.util.Optional;

/** Tensors on the CPU go the host's way, tensors on GPUs through NCCL. */
final class NcclCollectives implements Collectives {
    private final Collectives host;
    private final NcclCommunicator communicator;

    NcclCollectives(Collectives host, NcclCommunicator communicator) {
        this.host = host;
        this.communicator = communicator;
    }

    @Override
    public void report(Activities to) {
        host.report(to);
    }

    @Override
    public boolean reaches(Device.Kind device) {
        return device == Device.Kind.CUDA || host.reaches(device);
    }

    @Override
    public Optional<String> refuses(OpKind kind, Device.Kind device, DType dtype, Reduction how) {
        if (device != Device.Kind.CUDA) {
            return host.refuses(kind, device, dtype, how);
        }
        return switch (kind) {
            case ALLREDUCE -> refusesOnGpu(dtype, how);
            case BROADCAST, BARRIER, JOIN -> Optional.empty();
            default -> Optional.of(kind + " on the GPU is not there yet; copy the tensor to the host");
        };
    }

    @Override
    public boolean takesVetoes(Device.Kind device) {
        return device != Device.Kind.CUDA && host.takesVetoes(device);
    }

    @Override
    public boolean allreduceUnlessVetoed(List<Tensor> inputs, List<Tensor> outputs, Reduction how) {
        return host.allreduceUnlessVetoed(inputs, outputs, how);
    }

    @Override
    public void vetoAllreduce(Device.Kind device, long elements, Reduction how) {
        host.vetoAllreduce(device, elements, how);
    }

    @Override
    public void allreduce(List<Tensor> inputs, List<Tensor> outputs, Reduction how) {
        if (inputs.get(0).device().isCpu()) {
            host.allreduce(inputs, outputs, how);
        } else {
            communicator.allreduce(inputs, outputs, how);
        }
    }

    @Override
    public void allgather(Tensor input, Tensor output, long[] elements) {
        host.allgather(input, output, elements);
    }

    @Override
    public void alltoall(Tensor input, Tensor output, long[] sent, long[] received, long longest) {
        host.alltoall(input, output, sent, received, longest);
    }

    @Override
    public void reduceScatter(Tensor input, Tensor output, long[] elements, Reduction how) {
        host.reduceScatter(input, output, elements, how);
    }

    @Override
    public void reduce(Tensor input, Tensor output, Reduction how, int root) {
        host.reduce(input, output, how, root);
    }

    @Override
    public void gather(Tensor input, Tensor output, long[] elements, int root) {
        host.gather(input, output, elements, root);
    }

    @Override
    public void scatter(Tensor input, Tensor output, long[] elements, int root) {
        host.scatter(input, output, elements, root);
    }

    @Override
    public void send(Tensor tensor, int to) {
        host.send(tensor, to);
    }

    @Override
    public void receive(Tensor tensor, int from) {
        host.receive(tensor, from);
    }

    @Override
    public void broadcast(List<Tensor> inputs, List<Tensor> outputs, int root) {
        if (inputs.get(0).device().isCpu()) {
            host.broadcast(inputs, outputs, root);
        } else {
            communicator.broadcast(inputs, outputs, root);
        }
    }

    /** NCCL multiplies before it sums and in the tensor's own type, which is right for floating sums only. */
    private static Optional<String> refusesOnGpu(DType dtype, Reduction how) {
        if (how.wire() != dtype) {
            return Optional.of("compression on the GPU is not there yet (" + dtype + " as " + how.wire() + ")");
        }
        if (!NcclCodes.reduces(dtype)) {
            return Optional.of(
                    "NCCL combines no elements of type " + dtype + "; use int32, or copy the tensor to the host");
        }
        if (how.prescale() == 1 && how.postscale() == 1) {
            return Optional.empty();
        }
        String scales = "scale factors " + how.prescale() + " and " + how.postscale();
        if (how.op() != ReduceOp.SUM) {
            return Optional.of(scales + " on the GPU go with sums and averages only, not with " + how.op());
        }
        return dtype.isFloating()
                ? Optional.empty()
                : Optional.of(scales + " on " + dtype + ": an average or a scaled sum of integers is computed in"
                        + " floating point and truncated, which NCCL does not offer; sum on the GPU and divide"
                        + " afterwards, or use the host or a floating type");
    }
}
