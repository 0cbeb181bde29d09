package io.hvd.optimizer.torch.shard;

import io.hvd.optimizer.torch.memory.TensorViews;
import io.hvd.optimizer.torch.memory.TorchCopy;
import io.hvd.tensor.DType;
import io.hvd.tensor.ElementRun;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Device;
import org.bytedeco.pytorch.DeviceOptional;
import org.bytedeco.pytorch.MemoryFormatOptional;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;

/** hvd's tensors over LibTorch's memory on the host, which stays as long as they do, whatever scope is open. */
final class HostTensors {
    private HostTensors() {}

    /** A LibTorch tensor's own memory, or a copy if that is not on the host. */
    static Tensor view(String name, org.bytedeco.pytorch.Tensor tensor) {
        try (PointerScope scope = new PointerScope()) {
            org.bytedeco.pytorch.Tensor onHost = tensor.detach().cpu().contiguous();
            return TensorViews.onHost(name, onHost.retainReference(), TensorViews.LONGEST_BUFFER);
        }
    }

    /** A copy of a LibTorch tensor. */
    static Tensor copy(String name, org.bytedeco.pytorch.Tensor tensor) {
        try (PointerScope scope = new PointerScope()) {
            return view(name, tensor.detach().clone());
        }
    }

    /** A LibTorch vector of a type on the host whose elements have yet to be set. */
    static org.bytedeco.pytorch.Tensor empty(org.bytedeco.pytorch.Tensor ofType, long elements) {
        return torch.empty(
                new long[] {elements},
                new TensorOptions(ofType.scalar_type()).device(new DeviceOptional(new Device(torch.DeviceType.CPU))),
                new MemoryFormatOptional());
    }

    /** One whose elements have yet to be set. */
    static Tensor empty(DType type, Shape shape) {
        try (PointerScope scope = new PointerScope()) {
            return view("empty", torchEmpty(type, shape));
        }
    }

    private static org.bytedeco.pytorch.Tensor torchEmpty(DType type, Shape shape) {
        return torch.empty(shape.toArray(), new TensorOptions(TensorViews.typeOf(type)), new MemoryFormatOptional());
    }

    /** A copy of some elements of a tensor as a vector; the tensor itself where it is all of them. */
    static Tensor cut(Tensor tensor, ElementRun run) {
        if (run.elements() == tensor.elements()) {
            return tensor;
        }
        try (PointerScope scope = new PointerScope();
                NoGradGuard guard = new NoGradGuard()) {
            org.bytedeco.pytorch.Tensor all = torchEmpty(tensor.dtype(), tensor.shape());
            TorchCopy.copy(tensor, all);
            return view(
                    "cut", all.reshape(-1).narrow(0, run.from(), run.elements()).clone());
        }
    }
}
