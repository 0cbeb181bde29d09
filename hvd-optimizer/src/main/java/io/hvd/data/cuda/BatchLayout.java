package io.hvd.data.cuda;

import io.hvd.tensor.DType;
import io.hvd.tensor.Shape;
import java.nio.ByteBuffer;
import java.util.List;

/**
 * The layout of samples in memory: every field of a batch is one tensor, with the samples along its first dimension.
 *
 * @param <S> a sample
 */
public interface BatchLayout<S> {
    /** The fields of a batch, the same at every call. */
    List<Field> fields();

    /**
     * Writes one sample; several threads do so at once, each its own.
     *
     * @param to for each field a buffer of exactly one sample's bytes, in native byte order
     */
    void write(S sample, List<ByteBuffer> to);

    /**
     * One tensor of a batch.
     *
     * @param shape of one sample's part of it; {@link Shape#scalar()} for a label
     */
    record Field(String name, DType type, Shape shape) {
        long bytesPerSample() {
            return Math.multiplyExact(shape.elements(), (long) type.bytes());
        }
    }
}
