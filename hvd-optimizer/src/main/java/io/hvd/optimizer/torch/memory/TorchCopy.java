package io.hvd.optimizer.torch.memory;

import io.hvd.tensor.DeviceMemory;
import io.hvd.tensor.Tensor;
import java.lang.ref.Reference;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.DeviceOptional;
import org.bytedeco.pytorch.MemoryFormatOptional;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.global.torch;

/** Brings elements from hvd's tensors into LibTorch's, whichever device either is on. */
public final class TorchCopy {
    private TorchCopy() {}

    /**
     * Copies an hvd tensor's elements, wherever they lie, into a LibTorch tensor of the same type and size, wherever
     * that lies. From GPU to GPU the copy is queued on LibTorch's current stream; it is up to the caller that the
     * source is complete, as results of hvd's collectives are.
     */
    public static void copy(Tensor from, org.bytedeco.pytorch.Tensor to) {
        try (PointerScope scope = new PointerScope();
                NoGradGuard guard = new NoGradGuard()) {
            to.copy_(view(from, to));
        } finally {
            Reference.reachabilityFence(from);
        }
    }

    /** Whether two hvd tensors of the same type and size have the same elements to the bit, NaN too. */
    public static boolean sameBytes(Tensor one, Tensor other, org.bytedeco.pytorch.Tensor like) {
        try (PointerScope scope = new PointerScope();
                NoGradGuard guard = new NoGradGuard()) {
            return bytes(view(one, like)).equal(bytes(view(other, like)));
        } finally {
            Reference.reachabilityFence(one);
            Reference.reachabilityFence(other);
        }
    }

    private static org.bytedeco.pytorch.Tensor bytes(org.bytedeco.pytorch.Tensor tensor) {
        return tensor.reshape(-1).view(torch.ScalarType.Byte);
    }

    /** LibTorch's view of hvd's memory on a GPU; of memory on the host, which may lie in a Java array, a copy. */
    private static org.bytedeco.pytorch.Tensor view(Tensor from, org.bytedeco.pytorch.Tensor like) {
        long[] sizes = from.shape().toArray();
        if (from.memory() instanceof DeviceMemory memory) {

            var place = new org.bytedeco.pytorch.Device(
                    torch.DeviceType.CUDA, (byte) memory.device().index());
            return torch.from_blob(
                    pointer(memory.address()), sizes, like.options().device(new DeviceOptional(place)));
        }
        var onHost = new DeviceOptional(new org.bytedeco.pytorch.Device(torch.DeviceType.CPU));
        var copy = torch.empty(sizes, like.options().device(onHost), new MemoryFormatOptional());
        TensorViews.onHost("copy", copy, TensorViews.LONGEST_BUFFER).copyFrom(from);
        return copy;
    }

    /** An address of ours as JavaCPP takes it. */
    public static Pointer pointer(long address) {
        return new Pointer().getPointer(address);
    }
}
