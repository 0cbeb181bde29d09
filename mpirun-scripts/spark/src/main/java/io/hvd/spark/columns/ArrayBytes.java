package io.hvd.spark.columns;

import java.nio.ByteBuffer;

/** Moves elements between arrays and bytes in the order of the buffer. */
final class ArrayBytes {
    private ArrayBytes() {}

    /** Writes the whole array at the buffer's position, and moves that behind it. */
    static void put(Object array, ByteBuffer into) {
        int begin = into.position();
        if (array instanceof float[] floats) {
            into.asFloatBuffer().put(floats);
            into.position(begin + floats.length * Float.BYTES);
        } else if (array instanceof double[] doubles) {
            into.asDoubleBuffer().put(doubles);
            into.position(begin + doubles.length * Double.BYTES);
        } else if (array instanceof int[] ints) {
            into.asIntBuffer().put(ints);
            into.position(begin + ints.length * Integer.BYTES);
        } else if (array instanceof long[] longs) {
            into.asLongBuffer().put(longs);
            into.position(begin + longs.length * Long.BYTES);
        } else if (array instanceof short[] shorts) {
            into.asShortBuffer().put(shorts);
            into.position(begin + shorts.length * Short.BYTES);
        } else {
            into.put((byte[]) array);
        }
    }

    /** Reads so many elements from all of the buffer into the array, from this place on. */
    static void get(ByteBuffer from, Object array, int at, int elements) {
        if (array instanceof float[] floats) {
            from.asFloatBuffer().get(floats, at, elements);
        } else if (array instanceof double[] doubles) {
            from.asDoubleBuffer().get(doubles, at, elements);
        } else if (array instanceof int[] ints) {
            from.asIntBuffer().get(ints, at, elements);
        } else if (array instanceof long[] longs) {
            from.asLongBuffer().get(longs, at, elements);
        } else if (array instanceof short[] shorts) {
            from.asShortBuffer().get(shorts, at, elements);
        } else {
            from.get((byte[]) array, at, elements);
        }
    }
}
