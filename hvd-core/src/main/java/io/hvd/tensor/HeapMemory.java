package io.hvd.tensor;

import java.lang.reflect.Array;
import java.util.Objects;

/**
 * A Java array, or a part of one.
 *
 * @param array a primitive array
 * @param offset index of the first element
 * @param length number of elements
 */
public record HeapMemory(Object array, int offset, int length) implements HostMemory {
    public HeapMemory {
        Objects.checkFromIndexSize(offset, length, Array.getLength(array));
    }

    static HeapMemory allocate(DType type, long elements) {
        int length = Math.toIntExact(elements);
        return new HeapMemory(Array.newInstance(type.arrayType().getComponentType(), length), 0, length);
    }

    @Override
    public long bytes() {
        return (long) length * elementBytes();
    }

    @Override
    public void read(DType type, long from, Object into, int at, int count) {
        System.arraycopy(array, at(from, count), into, at, count);
    }

    @Override
    public void write(DType type, long from, Object source, int at, int count) {
        System.arraycopy(source, at, array, at(from, count), count);
    }

    /** Index in {@link #array} of element {@code from}, with the range checked. */
    public int at(long from, int count) {
        return offset + (int) Objects.checkFromIndexSize(from, (long) count, (long) length);
    }

    private int elementBytes() {
        if (array instanceof float[] || array instanceof int[]) {
            return 4;
        }
        if (array instanceof double[] || array instanceof long[]) {
            return 8;
        }
        return array instanceof short[] ? 2 : 1;
    }
}
