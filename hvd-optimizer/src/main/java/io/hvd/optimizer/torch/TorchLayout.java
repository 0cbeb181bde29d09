package io.hvd.optimizer.torch;

import io.hvd.data.cuda.BatchLayout;
import io.hvd.optimizer.torch.memory.TensorViews;
import io.hvd.optimizer.torch.memory.TorchCopy;
import io.hvd.tensor.DeviceMemory;
import io.hvd.tensor.Tensor;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.LongStream;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.pytorch.Device;
import org.bytedeco.pytorch.DeviceOptional;
import org.bytedeco.pytorch.MemoryFormatOptional;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;

/** LibTorch's tensors of batches that have this layout. */
record TorchLayout<S>(BatchLayout<S> layout) {
    /** Writes samples into new tensors of the host's memory; called on several threads, each with samples of its own. */
    TorchBatch onHost(List<S> samples) {
        List<org.bytedeco.pytorch.Tensor> tensors = new ArrayList<>();
        try {
            List<ByteBuffer> memory = new ArrayList<>();
            for (BatchLayout.Field field : layout.fields()) {
                org.bytedeco.pytorch.Tensor tensor = empty(field, samples.size());
                tensors.add(tensor);
                memory.add(bytes(tensor));
            }
            for (int i = 0; i < samples.size(); i++) {
                layout.write(samples.get(i), sample(memory, i, samples.size()));
            }
            return new TorchBatch(samples.size(), tensors);
        } catch (RuntimeException | Error e) {
            tensors.forEach(org.bytedeco.pytorch.Tensor::close);
            throw e;
        }
    }

    private static org.bytedeco.pytorch.Tensor empty(BatchLayout.Field field, int samples) {
        long[] sizes = LongStream.concat(
                        LongStream.of(samples), LongStream.of(field.shape().toArray()))
                .toArray();
        try (TensorOptions options = new TensorOptions(TensorViews.typeOf(field.type()));
                MemoryFormatOptional any = new MemoryFormatOptional()) {
            return torch.empty(sizes, options, any).retainReference(); // until the loader closes the batch
        }
    }

    private static ByteBuffer bytes(org.bytedeco.pytorch.Tensor tensor) {
        return new BytePointer(tensor.data_ptr()).capacity(tensor.nbytes()).asByteBuffer();
    }

    private static List<ByteBuffer> sample(List<ByteBuffer> fields, int place, int samples) {
        List<ByteBuffer> parts = new ArrayList<>();
        for (ByteBuffer field : fields) {
            int length = field.capacity() / samples;
            parts.add(field.slice(place * length, length).order(ByteOrder.nativeOrder()));
        }
        return parts;
    }

    /** LibTorch's views of hvd's tensors on a GPU. They own no memory. */
    static TorchBatch onGpu(int samples, List<Tensor> fields) {
        return new TorchBatch(samples, fields.stream().map(TorchLayout::view).toList());
    }

    private static org.bytedeco.pytorch.Tensor view(Tensor field) {
        DeviceMemory memory = (DeviceMemory) field.memory();
        try (Device gpu =
                        new Device(torch.DeviceType.CUDA, (byte) memory.device().index());
                DeviceOptional place = new DeviceOptional(gpu);
                TensorOptions type = new TensorOptions(TensorViews.typeOf(field.dtype()));
                TensorOptions options = type.device(place)) {
            return torch.from_blob(
                            TorchCopy.pointer(memory.address()), field.shape().toArray(), options)
                    .retainReference();
        }
    }
}
