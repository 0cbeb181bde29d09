package io.hvd.collective;

import io.hvd.tensor.DType;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * A run of elements, cut into one block for each rank; the blocks differ by at most one element.
 *
 * @param data a buffer with the elements at its start
 * @param parts number of blocks
 */
record Blocks(ByteBuffer data, int elements, DType type, int parts) {

    ByteBuffer of(int block) {
        int first = first(block);
        return part(data, first * type.bytes(), bytes(block));
    }

    int count(int block) {
        return first(block + 1) - first(block);
    }

    int bytes(int block) {
        return count(block) * type.bytes();
    }

    private int first(int block) {
        return (int) ((long) elements * block / parts);
    }

    static ByteBuffer part(ByteBuffer buffer, int from, int bytes) {
        return buffer.slice(from, bytes).order(ByteOrder.nativeOrder());
    }
}
