package io.hvd.examples.gpu;

import io.hvd.kernel.Converter;
import io.hvd.kernel.Scale;
import io.hvd.tensor.DType;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;
import java.util.stream.IntStream;

/**
 * Compares the conversion of float32 tensors to a narrower type and back on a GPU with that on the CPU, bit by bit. The
 * space between the tensors is ignored.
 *
 * @param source the tensors as float32, at the places of {@code runs}
 * @param runs the places of the tensors, in elements
 */
record KernelBits(ByteBuffer source, List<Run> runs) {
    private static final int CHUNK = 1 << 20;

    /** Elements {@code first} to {@code first + count - 1}. */
    record Run(long first, int count) {}

    /**
     * @param found the data that a GPU has packed
     * @return number of elements that differ
     */
    int wrongNarrowed(ByteBuffer found, DType wire, double scale) {
        Tensor floats = Tensor.wrap(source, DType.FLOAT32, Shape.of(source.capacity() / 4));
        ByteBuffer expected = ByteBuffer.allocateDirect(2 * CHUNK).order(ByteOrder.nativeOrder());
        Converter converter = new Converter();
        return count((first, count) -> {
            converter.pack(floats, first, count, expected, 0, wire, scale);
            return IntStream.range(0, count)
                    .filter(i -> expected.getShort(2 * i) != found.getShort(at(first + i, 2)))
                    .count();
        });
    }

    /**
     * @param narrow the data in the narrower type
     * @param found the float32 data into which a GPU has unpacked it
     * @return number of elements that differ
     */
    int wrongWidened(ByteBuffer narrow, ByteBuffer found, DType wire, double scale) {
        float[] values = new float[CHUNK];
        Tensor expected = Tensor.of(values);
        Converter converter = new Converter();
        return count((first, count) -> {
            converter.unpack(narrow, at(first, 2), wire, expected, 0, count, Scale.by(scale));
            return IntStream.range(0, count)
                    .filter(i -> Float.floatToRawIntBits(values[i]) != found.getInt(at(first + i, 4)))
                    .count();
        });
    }

    /** The number of elements that are infinite or NaN. */
    int nonFinite(ByteBuffer narrow, DType wire) {
        int exponent = wire == DType.FLOAT16 ? 0x7c00 : 0x7f80;
        return count((first, count) -> IntStream.range(0, count)
                .filter(i -> (narrow.getShort(at(first + i, 2)) & exponent) == exponent)
                .count());
    }

    private static int at(long element, int bytes) {
        return Math.toIntExact(element * bytes);
    }

    private interface Chunk {
        long count(long first, int count);
    }

    private int count(Chunk chunk) {
        long sum = 0;
        for (Run run : runs) {
            for (int done = 0; done < run.count(); done += CHUNK) {
                sum += chunk.count(run.first() + done, Math.min(CHUNK, run.count() - done));
            }
        }
        return Math.toIntExact(sum);
    }
}
