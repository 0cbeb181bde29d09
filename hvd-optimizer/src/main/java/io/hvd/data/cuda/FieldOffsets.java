package io.hvd.data.cuda;

import io.hvd.tensor.Device;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.LongStream;

/** The places of a full batch's fields, one behind the other, in pinned memory as on the GPU. */
final class FieldOffsets {
    /** Vector loads want it, and CUDA aligns its own memory so. */
    private static final long ALIGNMENT = 256;

    private final List<BatchLayout.Field> fields;
    private final long[] starts;
    private final int bytes;

    FieldOffsets(List<BatchLayout.Field> fields, int batchSize) {
        this.fields = List.copyOf(fields);
        this.starts = new long[fields.size()];
        long end = 0;
        for (int i = 0; i < starts.length; i++) {
            starts[i] = (end + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
            end = starts[i] + batchSize * this.fields.get(i).bytesPerSample();
        }
        if (end == 0 || end > Integer.MAX_VALUE) {
            throw new IllegalArgumentException("a batch of " + batchSize + " samples with fields " + fields + " has "
                    + end + " bytes, expected from 1 to " + Integer.MAX_VALUE);
        }
        this.bytes = (int) end;
    }

    /** The bytes of all fields of a full batch. */
    int bytes() {
        return bytes;
    }

    /** The part of each field that belongs to one sample. */
    List<ByteBuffer> sample(ByteBuffer batch, int place) {
        List<ByteBuffer> parts = new ArrayList<>();
        for (int i = 0; i < starts.length; i++) {
            int length = (int) fields.get(i).bytesPerSample();
            parts.add(batch.slice((int) starts[i] + place * length, length).order(ByteOrder.nativeOrder()));
        }
        return parts;
    }

    int start(int field) {
        return (int) starts[field];
    }

    int bytes(int field, int samples) {
        return (int) (samples * fields.get(field).bytesPerSample());
    }

    int count() {
        return starts.length;
    }

    /** The fields as tensors. @param address of the batch on the GPU */
    List<Tensor> tensors(long address, Device device, long stream, int samples) {
        List<Tensor> tensors = new ArrayList<>();
        for (int i = 0; i < starts.length; i++) {
            BatchLayout.Field field = fields.get(i);
            long[] dims = LongStream.concat(
                            LongStream.of(samples), LongStream.of(field.shape().toArray()))
                    .toArray();
            tensors.add(Tensor.onDevice(address + starts[i], device, stream, field.type(), Shape.of(dims)));
        }
        return tensors;
    }
}
