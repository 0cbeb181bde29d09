package io.hvd.optimizer.torch.memory;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.tensor.DType;
import io.hvd.tensor.Device;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.TreeMap;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.pytorch.StringTensorDict;
import org.bytedeco.pytorch.StringTensorDictItemVector;
import org.bytedeco.pytorch.global.torch.ScalarType;

/** Views of LibTorch's tensors as hvd's, which {@code TorchTensors} gives to programs. */
public final class TensorViews {
    /** The multiple of every element's size below 2^31. */
    public static final int LONGEST_BUFFER = Integer.MAX_VALUE & -8;

    private TensorViews() {}

    /** As {@code TorchTensors.alias}. */
    public static Tensor alias(String name, org.bytedeco.pytorch.Tensor tensor) {
        return tensor.is_cuda()
                ? alias(name, tensor, TorchStreams.current(tensor.device().index()))
                : onHost(name, tensor, LONGEST_BUFFER);
    }

    /** As {@code TorchTensors.alias}. */
    public static Tensor alias(String name, org.bytedeco.pytorch.Tensor tensor, long stream) {
        if (!tensor.is_cuda()) {
            throw new HvdException(
                    ErrorId.BAD_ARGUMENT, "tensor \"" + name + "\" is on the CPU, which has no stream " + stream);
        }
        requireContiguous(name, tensor);
        Device device = Device.cuda(tensor.device().index());
        return Tensor.onDevice(tensor.data_ptr().address(), device, stream, typeOf(name, tensor), shape(tensor))
                .keeping(tensor);
    }

    /** No rows of a tensor on a GPU, of its type and the shape of its rows. */
    public static Tensor withoutRows(String name, org.bytedeco.pytorch.Tensor tensor, long stream) {
        Device device = Device.cuda(tensor.device().index());
        org.bytedeco.pytorch.Tensor none = tensor.detach().narrow(0, 0, 0);
        return Tensor.onDevice(tensor.data_ptr().address(), device, stream, typeOf(name, tensor), shape(none))
                .keeping(tensor);
    }

    /**
     * @param longestBuffer bytes that one buffer may alias; a multiple of 8
     */
    public static Tensor onHost(String name, org.bytedeco.pytorch.Tensor tensor, int longestBuffer) {
        requireContiguous(name, tensor);
        DType type = typeOf(name, tensor);
        if (tensor.numel() == 0) {
            return Tensor.zeros(type, shape(tensor));
        }
        return Tensor.wrap(buffers(tensor.data_ptr(), tensor.nbytes(), longestBuffer), type, shape(tensor))
                .keeping(tensor);
    }

    private static void requireContiguous(String name, org.bytedeco.pytorch.Tensor tensor) {
        if (!tensor.is_contiguous()) {
            throw new HvdException(
                    ErrorId.UNSUPPORTED,
                    "tensor \"" + name + "\" of shape " + shape(tensor) + " has strides "
                            + Arrays.toString(tensor.strides().vec().get())
                            + ", so it is not contiguous, and hvd reads and writes elements one after the other: hand"
                            + " over tensor.contiguous(), which is a copy, and bring the result of an in-place"
                            + " operation back with tensor.copy_(copy)");
        }
    }

    public static Shape shape(org.bytedeco.pytorch.Tensor tensor) {
        try {
            return Shape.of(tensor.sizes().vec().get());
        } finally {
            Reference.reachabilityFence(tensor); // sizes() points into it
        }
    }

    /** Buffers that alias the memory from its start to its end. */
    public static List<ByteBuffer> buffers(Pointer data, long bytes, int longestBuffer) {
        BytePointer start = new BytePointer(data);
        List<ByteBuffer> buffers = new ArrayList<>();
        for (long from = 0; from < bytes; from += longestBuffer) {
            long length = Math.min(longestBuffer, bytes - from);
            buffers.add(start.getPointer(from).capacity(length).asByteBuffer());
        }
        return buffers;
    }

    /** Handles of our own for the tensors of a dictionary, whose own handles end with it. */
    public static TreeMap<String, org.bytedeco.pytorch.Tensor> references(StringTensorDict named) {
        TreeMap<String, org.bytedeco.pytorch.Tensor> references = new TreeMap<>();
        try {
            StringTensorDictItemVector items = named.items();
            for (long i = 0; i < items.size(); i++) {
                references.put(
                        items.get(i).key().getString(),
                        new org.bytedeco.pytorch.Tensor(items.get(i).access()));
            }
            return references;
        } finally {
            Reference.reachabilityFence(named); // items() points into it
        }
    }

    public static DType typeOf(String name, org.bytedeco.pytorch.Tensor tensor) {
        ScalarType type = tensor.scalar_type().intern();
        return switch (type) {
            case Float -> DType.FLOAT32;
            case Double -> DType.FLOAT64;
            case Int -> DType.INT32;
            case Long -> DType.INT64;
            case Char -> DType.INT8;
            case Byte -> DType.UINT8;
            case Half -> DType.FLOAT16;
            case BFloat16 -> DType.BFLOAT16;
            case Bool -> DType.BOOL;
            case Short -> DType.INT16;
            case UInt16 -> DType.UINT16;
            default ->
                throw new HvdException(
                        ErrorId.UNSUPPORTED,
                        "tensor \"" + name + "\" has type " + type + ", hvd carries "
                                + Arrays.toString(DType.values()));
        };
    }

    /** LibTorch's type of such elements. */
    public static ScalarType typeOf(DType type) {
        return switch (type) {
            case FLOAT32 -> ScalarType.Float;
            case FLOAT64 -> ScalarType.Double;
            case INT32 -> ScalarType.Int;
            case INT64 -> ScalarType.Long;
            case INT8 -> ScalarType.Char;
            case UINT8 -> ScalarType.Byte;
            case FLOAT16 -> ScalarType.Half;
            case BFLOAT16 -> ScalarType.BFloat16;
            case BOOL -> ScalarType.Bool;
            case INT16 -> ScalarType.Short;
            case UINT16 -> ScalarType.UInt16;
        };
    }
}
